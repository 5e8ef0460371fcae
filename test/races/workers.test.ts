import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import type { Queryable } from "../support/databases.ts";
import { call } from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const [late, other] = [
  "0198a000-0000-7000-8000-000000000001",
  "0198a000-0000-7000-8000-000000000002",
];
const beat = (on: Pick<Queryable, "query" | "value">, id: string, concurrency = 5) =>
  call(on, "worker_beat", id, { name: "w", kinds: ["k"], concurrency });

/** Those that stand in the table, as "…1 concurrency=5". */
const written = async () =>
  (
    await race.query(
      "select right(id::text, 1) || ' concurrency=' || concurrency as one from leasehold.workers order by id",
    )
  ).map(({ one }) => one);

/** A worker that was not heard of for so long that anyone may sweep it. */
async function silent(): Promise<void> {
  await beat(race, late);
  await ageAll(race.db, "workers", 120_000);
}

describe("a late worker's beat against a sweep", () => {
  test("keeps the worker when it came first: the sweep waits for nobody, and looks again", async () => {
    await silent();
    const [worker, sweeper] = [await race.session(), await race.impatient()];
    await worker.begin();
    await beat(worker, late, 3);
    expect((await call(sweeper, "workers")).workers).toEqual([]);
    await worker.commit();
    expect((await call(sweeper, "workers")).workers).toMatchObject([{ id: late, concurrency: 3 }]);
    expect(await written()).toEqual(["1 concurrency=3"]);
  });

  test.each(["commit", "rollback"] as const)(
    "writes the worker anew after the %s of a sweep that came first",
    async (end) => {
      await silent();
      const [sweeper, worker] = await race.pair();
      await sweeper.begin();
      await call(sweeper, "workers");
      const waiting = await race.blocked(worker, (on) => beat(on, late, 3));
      await sweeper[end]();
      expect(await waiting.answer).toMatchObject({ due: false });
      expect(await written()).toEqual(["1 concurrency=3"]);
    },
  );

  test("is not swept by one that has looked before the beat was there", async () => {
    await silent();
    const [rival, sweeper] = await race.pair();
    // Reading goes on under this lock, row locks do not: it stops a sweep that has looked already.
    await rival.begin();
    await rival.query("lock table leasehold.workers in exclusive mode");
    const waiting = await race.blocked(sweeper, (on) => call(on, "workers"));
    await beat(rival, late, 3);
    await rival.commit();
    await waiting.answer;
    expect(await written()).toEqual(["1 concurrency=3"]);
  });
});

test("two sweeps at once wait for nobody and take each worker once", async () => {
  await silent();
  await beat(race, other);
  const [first, second] = [await race.session(), await race.impatient()];
  await first.begin();
  await call(first, "workers");
  expect(await call(second, "worker_stop", other)).toBe(true);
  await first.commit();
  expect(await written()).toEqual([]);
});

test("beats of many workers at once, each sweeping the others that are gone, end in peace", async () => {
  const sessions = await race.sessions(8);
  const id = (n: number) => `0198a000-0000-7000-8000-${String(n).padStart(12, "0")}`;
  for (let round = 0; round < 20; round++) {
    await Promise.all(sessions.map((on, n) => beat(on, id(round % 2 ? n : 7 - n), round + 1)));
    await ageAll(race.db, "workers", 120_000);
  }
  expect(await written()).toHaveLength(8);
});

test("an enqueue that waited for a rival of its key tells who became idle meanwhile", async () => {
  const heard: string[] = [];
  const hooks = { onNotification: (one: string) => heard.push(one), onLost: () => undefined };
  const listening = await race.db.database.listen(hooks);
  const [rival, enqueuer] = await race.pair();
  const enqueue = (on: Queryable) => call(on, "enqueue", "k", "{}", { key: "a" });
  await rival.begin();
  await enqueue(rival);
  const waiting = await race.blocked(enqueuer, enqueue);
  const idle = { name: "w", kinds: ["k"], concurrency: 5, idle: true };
  await call(race, "worker_beat", late, idle);
  await rival.rollback();
  expect(await waiting.answer).toMatchObject({ outcome: "created" });
  await call(race, "worker_echo", "end");
  while (!heard.includes("echo end")) await new Promise((next) => setImmediate(next));
  await listening?.close();
  expect(heard).toEqual(["0 k", "echo end"]);
});
