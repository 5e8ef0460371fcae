import { PGlite } from "@electric-sql/pglite";
import { Client } from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { isAway } from "../../src/away.ts";
import type { Database } from "../../src/database.ts";
import { defineJob, handle } from "../../src/index.ts";
import { pg } from "../../src/pg/index.ts";
import { pglite } from "../../src/pglite/index.ts";
import { failing, interposed } from "../drain/support/interposed.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { assess, jobsOf, routes, secret, seen, unknownId } from "./support/routes.ts";

const mill = { user: "ann", json: { address: "Mill Lane 1" } };
const bearer = { authorization: `Bearer ${secret}` };

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

/** One request to each route that asks the database. */
async function everywhere(database: Database) {
  const { ask, leasehold } = routes(database);
  const answers = [
    await ask("/jobs/assess", mill),
    await ask(`/jobs/${unknownId}`, { user: "ann" }),
    await ask(`/jobs/${unknownId}/cancel`, { method: "POST", user: "ann" }),
    await ask(`/jobs/${unknownId}/retry`, { method: "POST", user: "admin" }),
    await ask("/drain?wait=1", { headers: bearer }),
    await ask("/metrics", { headers: bearer }),
    await ask("/health"),
  ];
  return { answers: await Promise.all(answers.map(seen)), leasehold };
}

test("a database that can't be reached is a 503, told once and not in its words", async () => {
  const away = pg("postgres://someone:hunter2@127.0.0.1:1/nowhere");
  const { answers, leasehold } = await everywhere(away);
  for (const { status, headers, body } of answers) {
    expect([status, JSON.parse(body).error.code]).toEqual([503, "UNAVAILABLE"]);
    expect(headers).toContainEqual(["retry-after", "5"]);
    expect(body).not.toMatch(/ECONN|127|hunter2|someone/);
  }
  expect(leasehold.toldOf("error").filter(({ during }) => during === "request")).toHaveLength(1);
  await away.close?.();
});

test("what PostgreSQL says of anything else is a 500 without a word of it", async () => {
  const broken = interposed(db.database, async ({ name }) => {
    return db.query(`select secret_column from secret_table -- ${name}`);
  });
  const { answers, leasehold } = await everywhere(broken);
  const { body: neutral } = answers[0] ?? { body: "" };
  expect(JSON.parse(neutral).error.code).toBe("INTERNAL");
  expect(answers.map(({ status }) => status)).toEqual([500, 500, 500, 500, 500, 500, 503]);
  for (const { body } of answers) expect(body).not.toMatch(/secret|select|42P01/);
  expect(leasehold.toldOf("error").length).toBeGreaterThanOrEqual(7);
});

test("a schema that is missing is the operator's to hear of, and health says so", async () => {
  const empty = await openTestDatabase("pglite", { migrated: false });
  const { answers } = await everywhere(empty.database);
  expect(answers.map(({ status }) => status)).toEqual([500, 500, 500, 500, 500, 500, 503]);
  for (const { body } of answers) expect(body).not.toMatch(/schema|migrate/);
  await empty.close();
});

test("the second outage is told, too", async () => {
  const { ask, leasehold } = routes(failing(db.database, "status", 2));
  const status = async () => (await ask(`/jobs/${unknownId}`, { user: "ann" })).status;
  expect([await status(), await status(), await status()]).toEqual([503, 503, 404]);
  expect(leasehold.toldOf("error")).toHaveLength(1);
  const flaky = interposed(db.database, async ({ nth, go }) => {
    if (nth % 2 === 1) throw Object.assign(new Error("gone"), { code: "57P01" });
    return go();
  });
  const other = routes(flaky);
  for (let i = 0; i < 4; i += 1) await other.ask(`/jobs/${unknownId}`, { user: "ann" });
  expect(other.leasehold.toldOf("error")).toHaveLength(2);
});

test("a process that is stopping sends callers elsewhere", async () => {
  const here = defineJob("here");
  const { ask, leasehold } = routes(db.database, {
    jobs: [here],
    handlers: [handle(here, () => 1)],
  });
  await leasehold.close();
  const answer = await ask("/jobs/here", { method: "POST", user: "ann" });
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await jobsOf(db)).toEqual([]);
});

test("what a job's own functions throw is a 500; a Response of its options is the answer", async () => {
  const throwing = () => {
    throw new Error("select * from plans");
  };
  const limited = () => {
    throw new Response("slow down", { status: 429 });
  };
  const broken = defineJob("broken", { key: throwing, startIn: "worker" });
  const own = routes(db.database, {
    jobs: [broken, { job: assess, options: limited }, { job: defineJob("foreign") }],
  });
  const answer = await own.ask("/jobs/broken", { method: "POST", user: "ann" });
  expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining("plans")]);
  const other = await own.ask("/jobs/assess", mill);
  expect([other.status, await other.text()]).toEqual([429, "slow down"]);
  // Listed, and without a handler in this client.
  expect((await own.ask("/jobs/foreign", { method: "POST", user: "ann" })).status).toBe(500);
  const misspelt = routes(db.database, {
    jobs: [{ job: assess, options: () => ({ prioritty: 1 }) as object }],
  });
  expect((await misspelt.ask("/jobs/assess", mill)).status).toBe(500);
  expect(await jobsOf(db)).toEqual([]);
});

test("knows from the drivers' own errors that a database is away", async () => {
  const thrown = async (work: () => Promise<unknown>) => work().catch((error: unknown) => error);
  const closed = new PGlite();
  await closed.close();
  const session = await db.connect();
  const errors = [
    await thrown(() => new Client({ host: "127.0.0.1", port: 1 }).connect()),
    await thrown(() => pglite(closed).call("schema_version", {})),
    await thrown(() => session.query("do $$ begin raise sqlstate '53300'; end $$")),
    await thrown(() => session.query("set statement_timeout = 1; select pg_sleep(5)")),
    await thrown(() => session.query("begin read only; create table t ()")),
    await thrown(() => session.query("rollback; select pg_terminate_backend(pg_backend_pid())")),
  ];
  expect(errors.filter((error) => !isAway(error))).toEqual([]);
  const others = [new Error("boom"), new TypeError("x"), null, "08006", { code: "23505" }];
  for (const error of [...others, await thrown(() => db.query("select 1/0"))]) {
    expect(isAway(error), String(error)).toBe(false);
  }
});
