import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate, renderWakeups } from "../../src/schema/index.ts";
import { type Block, blocksOf, pages, type Shown, spansOf } from "../support/docs.ts";
import { type SupabaseServer, startSupabase } from "../support/supabase-server.ts";
import { standIns } from "../support/supabase-stand-ins.ts";

/* Every statement that the documentation shows runs once, in a transaction that is rolled back. */

/** What the pages take for granted: of Supabase's beside the stand-ins of other tests, then of their reader's. */
const takenForGranted = `
  create function vault.create_secret(new_secret text, new_name text) returns uuid language sql as $$
    insert into vault.secrets (name, decrypted_secret) values ($2, $1) returning gen_random_uuid()
  $$;
  create table net._http_response (id bigint, status_code int);
  create function cron.unschedule(job_name text) returns boolean language sql as $$
    delete from cron.job where jobname = $1 returning true
  $$;
  create schema reporting;
  create role analyst;
`;

/** Written by scripts/sql-docs.mjs: each block is the head of a function and no statement. */
const heads = "docs/sql.md";

/** Its statements are "shortened to what matters": what has been left out of one is an …. */
const shortened = "docs/how-it-works.md";

/** The statements of a page, in blocks and in its text. */
function statementsOf(page: string): Shown[] {
  const blocks = page === heads ? [] : sqlBlocksOf(page);
  return [...blocks, ...spansOf(page).filter(({ code }) => isStatement(code))];
}

function sqlBlocksOf(page: string): Block[] {
  const blocks = blocksOf(page).filter(({ language }) => language === "sql");
  return page === shortened ? blocks.filter(({ code }) => !code.includes("…")) : blocks;
}

/** Of the words that begin one, those that our pages have; `grant` is a command of leasehold's, too. */
function isStatement(code: string): boolean {
  return /^(select|insert|update|delete|create|alter|drop|truncate|revoke) \S/.test(code);
}

/** What a page leaves to its reader. */
function filledIn(code: string): string {
  return code.replaceAll("id = …", "id = gen_random_uuid()");
}

let server: SupabaseServer;
beforeAll(async () => {
  server = await startSupabase();
  await migrate(server.database);
  await server.query(standIns + takenForGranted);
  await server.query(renderWakeups());
});
afterAll(() => server?.stop());

/** Runs the statements one after the other in one transaction; answers what each failed with. */
async function failuresOf(statements: readonly Shown[]): Promise<string[]> {
  const client = await server.pool.connect();
  const failures: string[] = [];
  await client.query("begin");
  for (const { place, code } of statements) {
    await client.query("savepoint before");
    const run = client.query(filledIn(code));
    await run.catch(async (error: Error) => {
      failures.push(`${place}: ${error.message}`);
      await client.query("rollback to before");
    });
  }
  await client.query("rollback");
  client.release();
  return failures;
}

describe("the SQL of the documentation", () => {
  it.each(pages.filter((page) => statementsOf(page).length > 0))("runs: %s", async (page) => {
    expect(await failuresOf(statementsOf(page))).toEqual([]);
  });

  it("shows the head of each function as it is installed", async () => {
    // `create or replace` refuses other names, defaults and answers; other types would make a second one.
    const replaced = sqlBlocksOf(heads).map(({ place, code }) => ({
      place,
      code: `create or replace function ${code} language plpgsql as 'begin null; end'`,
    }));
    const notOne = {
      place: heads,
      code: `do $$ begin
        if exists (select from pg_proc where pronamespace = 'leasehold'::regnamespace
          group by proname having count(*) > 1) then raise 'other arguments'; end if;
      end $$`,
    };
    expect(replaced.length).toBeGreaterThan(50);
    expect(await failuresOf([...replaced, notOne])).toEqual([]);
  });
});
