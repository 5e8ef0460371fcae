import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { client, counts, deferred, rowOf, until } from "../drain/support/client.ts";
import { backends } from "../support/databases.ts";
import { countOf, idOf, never, rowOfWorker, watched, workplace } from "./support/workers.ts";

const mail = defineJob("mail");
const other = defineJob("other");
const many = (count: number) =>
  Array.from({ length: count }, (_, payload) => ({ job: mail, payload }));

describe.each(backends)("a worker on %s", (backend) => {
  const place = workplace(backend);

  test("runs what is due and what comes later, and tells of each", async () => {
    const leasehold = client(
      place.db.database,
      handle(mail, ({ payload }) => `did ${payload}`),
    );
    const first = idOf(await leasehold.enqueue(mail, "first"));
    const worker = place.work(leasehold, { worker: "one" });
    await place.completed(1);
    expect(await rowOf(place.db, first)).toMatchObject({
      result: "did first",
      worker: worker.name,
    });
    expect(worker.name).toMatch(/^one/);
    await leasehold.enqueueMany(many(30));
    await place.completed(31);
    await until(() => worker.health().running === 0, "no job in hand");
    expect(leasehold.toldOf("started")).toHaveLength(31);
    expect(leasehold.toldOf("completed")).toHaveLength(31);
    expect(leasehold.toldOf("error")).toEqual([]);
    expect(worker.health()).toEqual({
      state: "working",
      ready: true,
      listening: true,
      running: 0,
      concurrency: 10,
      processed: 31,
    });
    const report = await worker.stop();
    expect(report).toMatchObject({ reason: "stop", processed: 31, completed: 31, lost: 0 });
    expect(await worker.ended).toEqual({ ...report, durationMs: expect.any(Number) });
    expect(worker.health()).toMatchObject({ state: "stopped", ready: false, listening: false });
  });

  test("never has more jobs in hand than its concurrency, and has that many when it can", async () => {
    let running = 0;
    let most = 0;
    const leasehold = client(
      place.db.database,
      handle(mail, async () => {
        running += 1;
        most = Math.max(most, running);
        for (let i = 0; i < 20; i += 1) await setImmediate();
        running -= 1;
      }),
    );
    await leasehold.enqueueMany(many(40));
    place.work(leasehold, { concurrency: 3 });
    await place.completed(40);
    expect(most).toBe(3);
  });

  test("takes only its kinds", async () => {
    const ran: string[] = [];
    const note = ({ kind }: { kind: string }) => void ran.push(kind);
    const leasehold = client(place.db.database, handle(mail, note), handle(other, note));
    await leasehold.enqueueMany([{ job: other }, { job: mail }, { job: other }, { job: mail }]);
    place.work(leasehold, { kinds: ["mail"] });
    await place.completed(2);
    await leasehold.enqueueMany([{ job: other }, { job: mail }]);
    await place.completed(3);
    expect(ran).toEqual(["mail", "mail", "mail"]);
    expect(await counts(place.db)).toEqual({ completed: 3, queued: 3 });
  });

  test("takes the better priority first, and within it the older", async () => {
    const ran: unknown[] = [];
    const leasehold = client(
      place.db.database,
      handle(mail, ({ payload }) => void ran.push(payload)),
    );
    for (const [payload, priority] of [
      ["last", 5],
      ["third", 0],
      ["first", -5],
      ["fourth", 0],
      ["second", -1],
    ] as const) {
      await leasehold.enqueue(mail, payload, { priority });
    }
    place.work(leasehold, { concurrency: 1 });
    await place.completed(5);
    expect(ran).toEqual(["first", "second", "third", "fourth", "last"]);
  });

  test("takes up what comes for a free slot while its other slots are busy", async () => {
    const long = deferred();
    const leasehold = client(
      place.db.database,
      handle(mail, ({ payload }) => (payload === "long" ? long.promise : undefined)),
    );
    await leasehold.enqueueMany(["long", "long"].map((payload) => ({ job: mail, payload })));
    const worker = place.work(leasehold, { ...never, concurrency: 3 });
    await until(async () => (await rowOfWorker(place.db, worker))?.idle, "idle");
    await leasehold.enqueueMany(many(9));
    await place.completed(9);
    expect(worker.health().running).toBe(2);
    long.resolve();
    await place.completed(11);
  });

  test("ends the jobs of one claim in a few calls", async () => {
    const database = watched(place.db.database);
    const leasehold = client(
      database,
      handle(mail, () => setImmediate()),
    );
    await leasehold.enqueueMany(many(200));
    place.work(leasehold, { concurrency: 100 });
    await place.completed(200);
    const calls = countOf(database, "finish_many") + countOf(database, "finish_and_claim");
    expect(calls).toBeLessThanOrEqual(20);
    expect(countOf(database, "complete")).toBe(0);
  });

  test("shares the work with other workers and drains: each job runs once", async () => {
    const ran: unknown[] = [];
    const sides = [1, 2, 3].map(() =>
      client(
        place.db.database,
        handle(mail, async ({ payload }) => {
          await setImmediate();
          ran.push(payload);
        }),
      ),
    );
    const jobs = backend === "pglite" ? 60 : 300;
    await sides[0]?.enqueueMany(many(jobs));
    for (const side of sides) place.work(side, { concurrency: 4 });
    await Promise.all(sides.map((side) => side.drain({ maxJobs: 5 })));
    await place.completed(jobs);
    expect(ran).toHaveLength(jobs);
    expect(new Set(ran).size).toBe(jobs);
  });

  test("leaves a paused kind alone until it is resumed", async () => {
    const leasehold = client(
      place.db.database,
      handle(mail, () => undefined),
      handle(other, () => undefined),
    );
    await place.db.database.call("pause", { p_kind: "mail" });
    await leasehold.enqueueMany([{ job: mail }, { job: other }]);
    await place.idle(leasehold, never);
    await place.completed(1);
    await place.db.database.call("resume", { p_kind: "mail" });
    await place.completed(2);
  });
});
