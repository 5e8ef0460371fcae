import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { deferred, recorded, until } from "../drain/support/client.ts";
import { type Child, startChild } from "../drain/support/parent.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

let db: TestDatabase;
const children: Child[] = [];
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterEach(() => {
  for (const child of children.splice(0)) child.process.kill("SIGKILL");
});
afterAll(() => db.close());

function start(scenario: string, lease?: string): Child {
  const file = new URL("support/child.ts", import.meta.url);
  const child = startChild(scenario, db.url, lease, file);
  children.push(child);
  return child;
}

const client = () => recorded({ database: db.database, housekeeping: false });
async function row() {
  const [found] = await db.query("select * from leasehold.cache where key = 'k'");
  if (found === undefined) throw new Error("The key is not there");
  return found;
}

test("a hundred callers in four processes are one load", async () => {
  const four = Array.from({ length: 4 }, () => start("share"));
  await Promise.all(four.map((child) => child.told("ready")));
  for (const { process } of four) process.send("ask");
  await Promise.all(four.map((child) => child.told("answered")));
  for (const { process } of four) process.send("end the load");
  const all = await Promise.all(four.map((child) => child.told("done")));
  expect(all.flatMap(({ errors }) => errors)).toEqual([]);
  expect(all.map(({ loads }) => loads).sort()).toEqual([0, 0, 0, 1]);
  const by = four[all.findIndex(({ loads }) => loads === 1)]?.process.pid;
  const values = all.flatMap((each) => each.values);
  expect(values).toEqual(Array(100).fill({ by }));
});

test("a filler that is killed is replaced by who waits, when its lease is over", async () => {
  const filler = start("hangs", "2s");
  await filler.told("loading");
  const { token, expires_at: until } = await row();
  filler.process.kill("SIGKILL");
  await filler.ended;
  const value = await client().singleFlight("k", { ttl: "1h", shared: true }, row);
  const taken = value as { token: string; since: string };
  expect(taken.token).not.toBe(token);
  const lateMs = Date.parse(taken.since) - until.getTime();
  expect(lateMs).toBeGreaterThanOrEqual(0);
  expect(lateMs).toBeLessThan(5_000); // a busy machine included
  expect((await row()).value).toMatchObject({ token: taken.token });
});

test("a load that fails in one process is tried again by who waits in another", async () => {
  const filler = start("fails");
  await filler.told("loading");
  const asked = deferred();
  const { database } = db;
  const waiting = recorded({
    database: {
      ...database,
      async call(name, args) {
        const answer = await database.call(name, args);
        asked.resolve();
        return answer;
      },
    },
    housekeeping: false,
  }).singleFlight("k", { ttl: "1h", shared: true }, () => "better");
  await asked.promise;
  filler.process.send("fail");
  expect(await filler.told("failed")).toBe("broken");
  expect(await waiting).toBe("better");
  expect((await row()).value).toBe("better");
});

test("values, shares and sweeps keep no process alive", async () => {
  const child = start("ends");
  await child.told("done");
  const begun = performance.now();
  expect(await child.ended).toEqual({ code: 0, signal: null, stderr: "" });
  expect(performance.now() - begun).toBeLessThan(10_000);
  const ticks = "select count(*) from leasehold.ticks where last_at > '-infinity'";
  await until(async () => (await db.value(ticks)) === 3, "the sweeps that it began");
});

test("sixty thousand keys leave no more than the bound, and no listener", async () => {
  const child = start("many");
  const { grownBytes, listeners, warnings } = await child.told("done");
  expect(grownBytes).toBeLessThan(2_000_000);
  expect([listeners, warnings]).toEqual([0, []]);
});
