import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import type { Queryable } from "../support/queryable.ts";
import { type Explained, type ExplainedSession, openExplained } from "./support/explained.ts";

/*
 * What a call costs on a full table, counted in pages: time depends on the machine, pages do not. A
 * call that sorts or walks the backlog shows in hundreds and thousands of them.
 */

let db: TestDatabase;
let session: ExplainedSession;
let small: Costs;
let large: Costs;
let unseen: Costs;

type Costs = Record<string, Explained>;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  session = await openExplained(db.url);
  // An analyze in the background would have plans made anew in the middle.
  await db.query("alter table leasehold.jobs set (autovacuum_enabled = false)");
  small = await costsWith({ completed: 2_000, due: 400, delayed: 600 });
  large = await costsWith({ completed: 100_000, due: 20_000, delayed: 30_000 });
  unseen = await costsOfTableTakenForEmpty();
});
afterAll(async () => {
  await session?.close();
  await db.close();
});

interface Backlog {
  completed: number;
  due: number;
  /** Of a better priority, many of them, than what is due. */
  delayed: number;
}

/** Jobs of three kinds and as many priorities, with and without a key. */
async function fill(
  { completed, due, delayed }: Backlog,
  into: Pick<Queryable, "query"> = db,
): Promise<void> {
  const insert = (nth: number, count: number, columns: string, values: string) =>
    into.query(
      `insert into leasehold.jobs (id, kind, owner, ${columns})
       select ('0198a000-0000-7000-800${nth}-' || lpad(to_hex(g), 12, '0'))::uuid,
         'kind ' || g % 3, 'owner ' || g % 100, ${values}
       from generate_series(1, ${count}) g`,
    );
  const ago = "clock_timestamp() - g * interval '10 milliseconds'";
  const later = "clock_timestamp() + interval '1 hour' + g * interval '1 second'";
  const finished = "status, attempts, generation, finished_at";
  await insert(1, completed, finished, `'completed', 1, 1, ${ago}`);
  await insert(2, due, "priority, run_after", `g % 3, ${ago}`);
  await insert(3, delayed, "key, priority, run_after", `'key ' || g, g % 3 - 1, ${later}`);
}

/** Of calls that are made again: the first ones read the catalogs, which is not the backlog's doing. */
async function costsWith(backlog: Backlog): Promise<Costs> {
  await db.reset();
  await fill(backlog);
  await db.query("analyze leasehold.jobs");
  await costs();
  return costs();
}

/**
 * Of calls whose plans were made for an empty table: so it looked to the analyze that came before a
 * big enqueue had committed. To the planner each way through such a table costs nothing.
 */
async function costsOfTableTakenForEmpty(): Promise<Costs> {
  await db.reset();
  const enqueuer = await db.connect();
  await enqueuer.begin();
  await fill({ completed: 100_000, due: 20_000, delayed: 30_000 }, enqueuer);
  await db.query("analyze leasehold.jobs");
  await enqueuer.commit();
  await enqueuer.close();
  await costs();
  return costs();
}

const kinds = "array['kind 0', 'kind 1', 'kind 2']";

/** The calls of every day, on whatever stands in the table. */
async function costs(): Promise<Costs> {
  const found: Costs = {};
  const ask = async (name: string, text: string, ...values: unknown[]) => {
    const explained = await session.run(text, values);
    found[name] ??= explained;
    return explained.rows;
  };
  const claim = () => ask("claim of one", `select * from leasehold.claim(${kinds})`);
  /** Calls with a job that has just been claimed. */
  const withClaim = async (name: string, args = "") => {
    const [{ id, generation } = {}] = await claim();
    await ask(name, `select leasehold.${name}($1::uuid, $2::int${args})`, id, generation);
    return { id, generation };
  };
  const ten = await ask("claim of ten", `select * from leasehold.claim(${kinds}, 10)`);
  await ask("claim of nothing", "select * from leasehold.claim(array['no such kind'])");
  await withClaim("extend");
  await withClaim("guard");
  await withClaim("release");
  await withClaim("step_save", ", 'a step', '1'");
  await withClaim("complete");
  const { id } = await withClaim("fail", `, '{"code": "BROKEN"}', true`);
  await ask("retry", "select leasehold.retry($1)", id);
  await ask("status", "select leasehold.status($1)", id);
  const [named] = await ask("claim_job", "select * from leasehold.claim_job($1)", id);
  await ask("cancel", "select leasehold.cancel($1)", id);
  const outcomes = JSON.stringify([{ id, generation: named?.generation, action: "complete" }]);
  await ask("finish_many", "select leasehold.finish_many($1)", outcomes);
  const exchange = `select * from leasehold.finish_and_claim($1, $2, null, null, ${kinds}, 10)`;
  const generations = ten.map((job) => job.generation);
  await ask(
    "finish_and_claim of ten",
    exchange,
    ten.map((job) => job.id),
    generations,
  );
  await ask("enqueue", "select leasehold.enqueue('kind 1')");
  const enqueue = (name: string, options: object) =>
    ask(name, "select leasehold.enqueue('kind 1', '{}', $1)", JSON.stringify(options));
  await enqueue("enqueue under a key", { key: "new" });
  await enqueue("enqueue under a busy key", { key: "key 100" });
  await enqueue("enqueue under a name", { once: "new" });
  await ask("has_due_work", "select leasehold.has_due_work()");
  await ask("reap", "select leasehold.reap()");
  await ask("prune", "select leasehold.prune()");
  await ask("kinds", "select leasehold.kinds()");
  return found;
}

const names = [
  ...["claim of one", "claim of nothing", "claim_job", "extend", "guard", "release", "step_save"],
  ...["complete", "fail", "finish_many", "retry", "status", "cancel", "enqueue"],
  ...["enqueue under a key", "enqueue under a busy key", "enqueue under a name"],
  ...["has_due_work", "reap", "prune", "kinds"],
];

describe("with 100,000 jobs completed and 50,000 queued, 30,000 of them delayed (S35)", () => {
  test.each(names)("%s looks at fewer than 200 pages, at hardly more than with 3,000", (name) => {
    const { buffers } = large[name] as Explained;
    expect(buffers).toBeLessThan(200);
    expect(buffers).toBeLessThan(2 * (small[name] as Explained).buffers + 20);
  });

  test.each(names)("%s looks at hardly more where the table was taken for empty", (name) => {
    const { buffers } = unseen[name] as Explained;
    expect(buffers).toBeLessThan(2 * (large[name] as Explained).buffers + 20);
  });

  test.each([
    ["claim of ten", 10, 500],
    ["finish_and_claim of ten", 11, 800],
  ])("a %s looks at less than 80 pages for each, most of them written", (name, count, most) => {
    const { rows, buffers } = large[name] as Explained;
    expect(rows).toHaveLength(count);
    expect(buffers).toBeLessThan(most);
    for (const others of [small, unseen]) {
      expect(buffers).toBeLessThan(2 * (others[name] as Explained).buffers);
      expect((others[name] as Explained).buffers).toBeLessThan(2 * buffers);
    }
  });

  test("nothing walks the table, and nothing sorts more than it answers", () => {
    for (const [name, { nodes }] of Object.entries(large)) {
      const walked = nodes.filter(({ type, table }) => type === "Seq Scan" && table === "jobs");
      expect(walked, name).toEqual([]);
      const sorted = nodes.filter(({ type }) => /Sort/.test(type)).map(({ rows }) => rows);
      expect(Math.max(0, ...sorted), name).toBeLessThanOrEqual(10);
    }
  });
});
