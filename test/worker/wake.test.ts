import { describe, expect } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { client, counts, deferred, rowOf, until } from "../drain/support/client.ts";
import { backends } from "../support/databases.ts";
import {
  countOf,
  idOf,
  never,
  pass,
  rowOfWorker,
  testApart,
  type Workplace,
  watched,
} from "./support/workers.ts";

const mail = defineJob("mail", { maxAttempts: 2 });

const mailer = ({ db }: Workplace) =>
  client(
    db.database,
    handle(mail, () => undefined),
  );

/** How long after their run_after the jobs started, in milliseconds. */
async function lateness({ db }: Workplace): Promise<number[]> {
  const rows = await db.query(
    "select extract(epoch from started_at - run_after) * 1000 as ms from leasehold.jobs",
  );
  return rows.map(({ ms }) => Number(ms));
}

/** Far less than any poll here, and enough for a machine that has other things to do. */
const soonMs = 10_000;

/** Later than the last look that a worker makes of its own accord. */
const laterMs = 3_300;

describe.concurrent.each(backends)(
  "an idle worker on %s that would poll once an hour",
  (backend) => {
    testApart(backend, "starts a job as soon as it is enqueued", async (place) => {
      const database = watched(place.db.database);
      const leasehold = client(
        database,
        handle(mail, () => undefined),
      );
      await place.idle(leasehold, never);
      // From then on it looks no more by itself: only a notification can tell it.
      await until(() => countOf(database, "claim") === 5, "the last look of its own accord");
      await leasehold.enqueue(mail);
      await place.completed(1);
    });

    testApart(backend, "starts delayed jobs each at its time", async (place) => {
      const leasehold = mailer(place);
      await place.idle(leasehold, never);
      for (const delay of [laterMs + 900, 300, laterMs])
        await leasehold.enqueue(mail, null, { delay });
      await leasehold.enqueue(mail);
      await place.completed(4);
      const late = await lateness(place);
      expect(Math.min(...late)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...late)).toBeLessThan(soonMs);
    });

    testApart(
      backend,
      "starts one that is retried, run now or released elsewhere",
      async (place) => {
        const leasehold = mailer(place);
        const { database } = place.db;
        const enqueued = async (hours: number) =>
          idOf(await leasehold.enqueue(mail, null, { delay: hours * 3_600_000 }));
        const [cancelled, later, released] = [
          await enqueued(2),
          await enqueued(3),
          await enqueued(4),
        ];
        await leasehold.cancel(cancelled);
        await database.call("run_now", { p_id: released });
        const [row] = (await database.call("claim", { p_kinds: ["mail"] })) as { id: string }[];
        expect(row?.id).toBe(released);
        await place.idle(leasehold, never);
        await leasehold.retry(cancelled);
        await place.completed(1);
        await database.call("run_now", { p_id: later });
        await place.completed(2);
        await database.call("release", { p_id: released, p_generation: 1 });
        await place.completed(3);
        expect(await rowOf(place.db, released)).toMatchObject({ generation: 2, attempts: 1 });
      },
    );
  },
);

describe.concurrent("an idle worker", () => {
  testApart("postgres", "starts delayed jobs that were there before it", async (place) => {
    const leasehold = mailer(place);
    for (const delay of [laterMs, laterMs + 1_500]) await leasehold.enqueue(mail, null, { delay });
    await place.idle(leasehold, never);
    await leasehold.enqueue(mail);
    await place.completed(3);
    expect(Math.max(...(await lateness(place)))).toBeLessThan(soonMs);
  });

  testApart("postgres", "takes over the job of another whose lease runs out", async (place) => {
    const database = watched(place.db.database);
    const leasehold = client(
      database,
      handle(mail, () => undefined),
    );
    const id = idOf(await leasehold.enqueue(mail));
    await place.db.database.call("claim", { p_kinds: ["mail"], p_lease_ms: laterMs });
    await place.idle(leasehold, { ...never, listen: false });
    await place.completed(1);
    // The second of its beats told when; it did not take a third one to find out.
    expect(countOf(database, "worker_beat")).toBe(2);
    expect(await rowOf(place.db, id)).toMatchObject({ generation: 2, attempts: 2 });
  });

  testApart(
    "postgres",
    "finds by its poll a job whose transaction began earlier",
    async (place) => {
      const database = watched(place.db.database);
      const leasehold = client(
        database,
        handle(mail, () => undefined),
      );
      const user = await place.db.connect();
      await user.begin();
      await user.query("select leasehold.enqueue('mail')");
      const worker = await place.idle(leasehold, { poll: 200 });
      await until(() => countOf(database, "claim") === 5, "the last look of its own accord");
      expect(worker.health().processed).toBe(0);
      await user.commit();
      await place.completed(1);
      await user.close();
    },
  );

  testApart("postgres", "starts a job at the commit of its transaction", async (place) => {
    const worker = await place.idle(mailer(place), never);
    await pass(laterMs);
    const user = await place.db.connect();
    for (const end of ["rollback", "commit"] as const) {
      await user.begin();
      await user.query("select leasehold.enqueue('mail')");
      expect(worker.health().processed).toBe(0);
      await user[end]();
    }
    await place.completed(1);
    expect(await counts(place.db)).toEqual({ completed: 1 });
    await user.close();
  });

  testApart("postgres", "looks again a few times, and then no more", async (place) => {
    const database = watched(place.db.database);
    const leasehold = client(
      database,
      handle(mail, () => undefined),
    );
    await place.idle(leasehold, never);
    await until(() => countOf(database, "claim") === 5, "five looks");
    await pass(500);
    expect(countOf(database, "claim")).toBe(5);
  });

  testApart("postgres", "that gets busy and idle again is known as what it is", async (place) => {
    const gate = deferred();
    const slow = watched({
      ...place.db.database,
      call: async (name, args) => {
        const answer = await place.db.database.call(name, args);
        const { idle } = (args.p_state ?? {}) as { idle?: boolean };
        if (started && idle === false) await gate.promise; // the beat that says so is answered late
        return answer;
      },
      listen: async () => null,
    });
    let started = false;
    const handled = deferred();
    const leasehold = client(
      slow,
      handle(mail, () => {
        started = true;
        return handled.promise;
      }),
    );
    await leasehold.enqueue(mail, null, { delay: 2_000 });
    const worker = await place.idle(leasehold, { ...never, concurrency: 1, listen: false });
    await until(() => started, "the job");
    await until(async () => !(await rowOfWorker(place.db, worker)).idle, "busy, as told");
    const looks = countOf(slow, "claim");
    handled.resolve();
    await until(() => worker.health().running === 0, "the end of the job");
    await until(() => countOf(slow, "claim") > looks + 1, "a look after one that found nothing");
    gate.resolve();
    await until(async () => (await rowOfWorker(place.db, worker))?.idle, "idle again", 5_000);
  });
});
