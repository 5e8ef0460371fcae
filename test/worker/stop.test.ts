import { describe, expect, test } from "vitest";
import { defineJob, handle, JobAbortedError } from "../../src/index.ts";
import { aborted, client, counts, deferred, rowOf, until } from "../drain/support/client.ts";
import { connectionLost, interposed } from "../drain/support/interposed.ts";
import { backends } from "../support/databases.ts";
import { idOf, never, pass, rowOfWorker, timed, workplace } from "./support/workers.ts";

const job = defineJob("job", { lease: "1m" });
const released = { status: "queued", attempts: 0, releases: 1, last_error_code: "SHUTDOWN" };

describe.each(backends)("a worker that is stopped on %s", (backend) => {
  const place = workplace(backend);
  const idle = () =>
    client(
      place.db.database,
      handle(job, () => undefined),
    );

  test("right after its start, twice at once, ends and leaves no row (S30)", async () => {
    const worker = place.work(idle(), never);
    const [one, two] = await Promise.all([worker.stop(), worker.stop({ grace: 0 })]);
    expect(one).toMatchObject({ reason: "stop", processed: 0 });
    expect(two).toMatchObject({ reason: "stop", processed: 0 });
    expect(await worker.ended).toMatchObject({ reason: "stop" });
    expect(await worker.stop()).toMatchObject({ reason: "stop" });
    expect(await rowOfWorker(place.db, worker)).toBeUndefined();
  });

  test("claims nothing more, and takes its row away", async () => {
    const leasehold = idle();
    const worker = await place.idle(leasehold, never);
    await worker.stop();
    expect(await rowOfWorker(place.db, worker)).toBeUndefined();
    await leasehold.enqueue(job);
    await pass(100);
    expect(await counts(place.db)).toEqual({ queued: 1 });
  });

  test.each(["awaits it", "lets it be"])(
    "in a handler that %s ends with the rest (S30)",
    async (how) => {
      const gate = deferred();
      const leasehold = client(
        place.db.database,
        handle(job, async ({ payload }) => {
          if (payload !== "stops") return gate.promise;
          const stopped = worker.stop();
          if (how === "lets it be") return void stopped;
          gate.resolve();
          return (await stopped).completed;
        }),
      );
      const ids = (await leasehold.enqueueMany([{ job, payload: "stops" }, { job }])).map(idOf);
      const worker = place.work(leasehold, { concurrency: 2 });
      // It may have ended by the time that we look.
      await until(() => /^stop/.test(worker.health().state), "the stop");
      gate.resolve();
      expect(await worker.ended).toMatchObject({ completed: 2 });
      const [row] = await Promise.all(ids.map((id) => rowOf(place.db, id)));
      expect(row?.result ?? 1).toBe(1);
    },
  );

  test("in two handlers that both await it ends at once, not with the grace", async () => {
    const both = deferred();
    let asking = 0;
    const leasehold = client(
      place.db.database,
      handle(job, async ({ signal }) => {
        asking += 1;
        if (asking === 2) both.resolve();
        await both.promise;
        await worker.stop({ grace: "1h" });
        return signal.aborted;
      }),
    );
    await leasehold.enqueueMany([{ job }, { job }]);
    const worker = place.work(leasehold, { concurrency: 2 });
    expect(await worker.ended).toMatchObject({ completed: 2, released: 0 });
  });

  test("lets a handler end within the grace, its lease renewed meanwhile", async () => {
    const brief = defineJob("brief", { lease: 600 });
    const gate = deferred();
    const leasehold = client(
      place.db.database,
      handle(brief, async ({ signal }) => {
        await gate.promise;
        return signal.aborted;
      }),
    );
    const id = idOf(await leasehold.enqueue(brief));
    const worker = place.work(leasehold, { ...never, grace: "1h" });
    await until(() => worker.health().running === 1, "the job");
    const stopped = worker.stop();
    expect(worker.health()).toMatchObject({ state: "stopping", ready: false });
    const end = performance.now() + 1_500;
    await until(async () => {
      expect(await place.db.database.call("claim", { p_kinds: ["brief"] })).toEqual([]);
      return performance.now() > end;
    }, "more than two leases");
    gate.resolve();
    expect(await stopped).toMatchObject({ completed: 1, lost: 0 });
    expect(await rowOf(place.db, id)).toMatchObject({ result: false, generation: 1 });
  });

  test("aborts after the grace, and gives back what obeys and what does not (S29)", async () => {
    const reasons: unknown[] = [];
    const leasehold = client(
      place.db.database,
      handle(job, async ({ payload, signal }) => {
        reasons.push(await aborted(signal));
        if (payload === "ignores") await new Promise(() => undefined);
        if (payload === "done all the same") return "done";
        throw signal.reason;
      }),
    );
    const payloads = ["obeys", "ignores", "done all the same"];
    const ids = (await leasehold.enqueueMany(payloads.map((payload) => ({ job, payload })))).map(
      idOf,
    );
    const worker = place.work(leasehold, { ...never, grace: 300 });
    await until(() => worker.health().running === 3, "the jobs");
    expect(await timed(() => worker.stop())).toBeLessThan(15_000);
    expect(reasons).toEqual(Array(3).fill(new JobAbortedError("shutdown")));
    expect(await Promise.all(ids.map((id) => rowOf(place.db, id)))).toMatchObject([
      released,
      released,
      { status: "completed", result: "done" },
    ]);
    expect(await worker.ended).toMatchObject({ released: 2, completed: 1 });
  });

  test("a second time with a shorter grace ends sooner, a longer one changes nothing", async () => {
    const leasehold = client(
      place.db.database,
      handle(job, async ({ signal }) => {
        throw await aborted(signal);
      }),
    );
    const id = idOf(await leasehold.enqueue(job));
    const worker = place.work(leasehold, { ...never, grace: "1h" });
    await until(() => worker.health().running === 1, "the job");
    const first = worker.stop();
    const second = worker.stop({ grace: 50 });
    const third = worker.stop({ grace: "2h" });
    expect(await Promise.all([first, second, third])).toMatchObject(Array(3).fill({ released: 1 }));
    expect(await rowOf(place.db, id)).toMatchObject(released);
  });

  test("while a claim is under way gives back what that brings, the attempt not counted", async () => {
    const claiming = deferred();
    const answer = deferred();
    const database = interposed(place.db.database, async (call) => {
      if (call.name !== "claim") return call.go();
      const rows = await call.go();
      claiming.resolve();
      await answer.promise;
      return rows;
    });
    const ran: unknown[] = [];
    const leasehold = client(
      database,
      handle(job, () => void ran.push(1)),
    );
    const id = idOf(await leasehold.enqueue(job));
    const worker = place.work(leasehold, never);
    await claiming.promise;
    const stopped = worker.stop();
    answer.resolve();
    expect(await stopped).toMatchObject({ processed: 0 });
    expect(await rowOf(place.db, id)).toMatchObject(released);
    expect(ran).toEqual([]);
  });

  test("before a claim answers that takes its time, gives that back when it comes", async () => {
    const claiming = deferred();
    const answer = deferred();
    const database = interposed(place.db.database, async (call) => {
      if (call.name !== "claim") return call.go();
      const rows = await call.go();
      claiming.resolve();
      await answer.promise;
      return rows;
    });
    const leasehold = client(
      database,
      handle(job, () => undefined),
    );
    const id = idOf(await leasehold.enqueue(job));
    const worker = place.work(leasehold, never);
    await claiming.promise;
    expect(await timed(() => worker.stop())).toBeLessThan(15_000);
    expect(await rowOf(place.db, id)).toMatchObject({ status: "running" });
    answer.resolve();
    await until(async () => (await rowOf(place.db, id)).status === "queued", "given back");
    expect(await rowOf(place.db, id)).toMatchObject(released);
  });

  test("while the answer to a claim is lost gives back what that took", async () => {
    const database = interposed(place.db.database, async (call) => {
      const answer = await call.go();
      if (call.name !== "claim") return answer;
      void worker.stop();
      throw connectionLost();
    });
    const leasehold = client(
      database,
      handle(job, () => undefined),
    );
    const id = idOf(await leasehold.enqueue(job));
    const worker = place.work(leasehold, never);
    expect(await worker.ended).toMatchObject({ processed: 0 });
    expect(await rowOf(place.db, id)).toMatchObject({ status: "queued", attempts: 0, releases: 1 });
  });

  test("by close stops with its client", async () => {
    const leasehold = idle();
    const workers = [place.work(leasehold, never), await place.idle(leasehold, never)];
    await leasehold.close();
    expect(workers.map((worker) => worker.health().state)).toEqual(["stopped", "stopped"]);
  });
});
