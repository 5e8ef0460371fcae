import { describe, expect } from "vitest";
import type { Database, ListenHooks } from "../../src/database.ts";
import { defineJob, handle } from "../../src/index.ts";
import { client, until } from "../drain/support/client.ts";
import { backends } from "../support/databases.ts";
import { countOf, never, pass, type SeenCall, testApart, watched } from "./support/workers.ts";

const job = defineJob("job");

/** A worker that finds nothing looks five times, the last one after 2.6 s, and then beats alone. */
const quiet = (database: { seen: readonly SeenCall[] }) =>
  until(() => countOf(database, "claim") === 5, "the last look");

const jobber = (database: Database) =>
  client(
    database,
    handle(job, () => undefined),
  );

describe.concurrent.each(backends)("a worker on %s that has nothing to do", (backend) => {
  const name = "asks once an idlePoll, on its listening connection alone, and starts a job at once";
  testApart(backend, name, async (place) => {
    const database = watched(place.db.database);
    const leasehold = jobber(database);
    const rests = { poll: 200, idleAfter: 1_000, idlePoll: 900 };
    const worker = await place.idle(leasehold, rests);
    await quiet(database);
    await pass(1_100); // and the times to rest
    const from = database.seen.length;
    await pass(2_900);
    // Neither other kinds nor nonsense wake it.
    for (const payload of ["0 other", "", "job", "x job", "-1 job", "1e9 job", "echo job", "0"]) {
      await place.db.query("select pg_notify('leasehold', $1)", [payload]);
    }
    await pass(50);
    const calls = database.seen.slice(from);
    expect(calls.map((call) => `${call.name} by the ${call.by}`)).toEqual(
      calls.map(() => "worker_beat by the listener"),
    );
    expect(calls.length).toBeGreaterThanOrEqual(1);
    expect(calls.length).toBeLessThanOrEqual(4);
    await leasehold.enqueue(job);
    await until(() => worker.health().processed === 1, "the job");
    await place.completed(1);
  });
});

describe.concurrent("a worker that has nothing to do and can't listen", () => {
  testApart("postgres", "asks once a poll, and writes its row seldom", async (place) => {
    const database = watched(place.db.database);
    await place.idle(jobber(database), { poll: 200, listen: false });
    await quiet(database);
    await pass(250);
    const from = database.seen.length;
    const versions = new Set<string>();
    for (const end = performance.now() + 2_000; performance.now() < end; await pass(50)) {
      versions.add(await place.db.value("select xmin::text from leasehold.workers"));
    }
    expect(versions.size).toBeLessThanOrEqual(2);
    const names = database.seen.slice(from).map(({ name }) => name);
    expect(new Set(names)).toEqual(new Set(["worker_beat"]));
    expect(names.length).toBeGreaterThanOrEqual(1);
    expect(names.length).toBeLessThanOrEqual(10);
  });
});

/** Many workers hear by one connection, which is cheaper; what they do is the same. */
function sharedEars(database: Database): Database {
  const ears = new Set<ListenHooks>();
  const opened = database.listen?.({
    onNotification: (payload) => {
      for (const { onNotification } of ears) onNotification(payload);
    },
    onLost: () => undefined,
  });
  return {
    ...database,
    async listen(hooks) {
      await opened;
      ears.add(hooks);
      return { call: database.call, close: async () => void ears.delete(hooks) };
    },
    close: async () => (await opened)?.close(),
  };
}

describe.concurrent("a hundred idle workers", () => {
  testApart("postgres", "run one new job once, asking one after the other (S49)", async (place) => {
    const ears = sharedEars(place.db.database);
    const database = watched(ears);
    let runs = 0;
    const leasehold = client(
      database,
      handle(job, () => {
        runs += 1;
      }),
    );
    const workers = Array.from({ length: 100 }, () =>
      place.work(leasehold, { poll: 2_000, concurrency: 1 }),
    );
    const idle = "select count(*)::int from leasehold.workers where idle";
    await until(async () => (await place.db.value(idle)) === 100, "all idle");
    await until(() => workers.every((worker) => worker.health().listening), "all listening");
    await until(() => countOf(database, "claim") === 500, "the last looks");
    await pass(2_200); // they hear how many they are
    const from = database.seen.length;
    await leasehold.enqueue(job);
    await until(() => runs === 1, "the job");
    await pass(400);
    const claims = database.seen.slice(from).filter(({ name }) => name === "claim");
    // One each, a few more of the one that found the job, and of those whose poll came just then.
    expect(claims.length).toBeLessThanOrEqual(150);
    // Without the first and the last, which may be the looks of the one that found the job.
    const times = claims.map(({ at }) => at);
    expect((times[89] ?? 0) - (times[9] ?? 0)).toBeGreaterThan(60);
    expect(runs).toBe(1);
    await ears.close?.();
  });
});

describe.concurrent("a storm of notifications", () => {
  testApart("postgres", "makes no hot loop, nor where claims fail", async (place) => {
    let hear: (payload: string) => void = () => undefined;
    const watching = watched({
      ...place.db.database,
      listen: async (hooks) => {
        hear = hooks.onNotification;
        return place.db.database.listen(hooks);
      },
    });
    let broken = false;
    const call: Database["call"] = async (name, args) => {
      const answer = await watching.call(name, args);
      if (broken && name === "claim") throw new Error("no");
      return answer;
    };
    await place.idle(jobber({ ...watching, call }), never);
    const storm = setInterval(() => hear("0 job"), 0);
    const looksWithin = async (ms: number) => {
      const [before, since] = [countOf(watching, "claim"), performance.now()];
      await pass(ms);
      return { looks: countOf(watching, "claim") - before, ms: performance.now() - since };
    };
    // Twenty at once, whenever it has rested (so after a stall of this machine too), else one every 5 ms.
    const busy = await looksWithin(2_000);
    expect(busy.looks).toBeLessThanOrEqual(20 + busy.ms / 5 + 1);
    broken = true;
    const failing = await looksWithin(1_500);
    expect(failing.looks).toBeLessThanOrEqual(8);
    clearInterval(storm);
  });
});
