import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Database } from "../../src/database.ts";
import { defineJob, handle } from "../../src/index.ts";
import { client, counts, deferred, eventsOf, rowOf, until } from "../drain/support/client.ts";
import { connectionLost, failing, interposed } from "../drain/support/interposed.ts";
import { age } from "../support/ageing.ts";
import { backends } from "../support/databases.ts";
import { countOf, idOf, never, watched, workplace } from "./support/workers.ts";

const job = defineJob("job", { backoff: [0], lease: "1m" });
const hung = () => new Promise<never>(() => undefined);

describe.each(backends)("what becomes of a worker's jobs on %s", (backend) => {
  const place = workplace(backend);
  const kindOf = (id: string) => async () => (await rowOf(place.db, id)).status;

  test("one that outlived its lease can record nothing, and is told so (S02)", async () => {
    const runs: AbortSignal[] = [];
    const first = deferred();
    const leasehold = client(
      place.db.database,
      handle(job, async (own) => {
        runs.push(own.signal);
        if (own.generation > 1) return "new";
        await first.promise;
        expect(await own.extend()).toBe(false);
        return "old";
      }),
    );
    const id = idOf(await leasehold.enqueue(job));
    const worker = place.work(leasehold, { concurrency: 2, poll: 100 });
    await until(() => runs.length === 1, "the first run");
    await age(place.db, id, 61_000);
    await place.completed(1);
    first.resolve();
    await until(() => worker.health().processed === 2, "both runs");
    expect(await rowOf(place.db, id)).toMatchObject({ result: "new", generation: 2 });
    expect(runs.map(({ aborted }) => aborted)).toEqual([true, false]);
    expect(leasehold.toldOf("lost")).toMatchObject([{ id, generation: 1 }]);
    expect(leasehold.toldOf("error")).toEqual([]);
    expect(await worker.stop()).toMatchObject({ completed: 1, lost: 1 });
  });

  test("a handler that never settles gives its slot back at its timeout (S32)", async () => {
    const hangs = defineJob("hangs", { timeout: 300, maxAttempts: 1 });
    const leasehold = client(
      place.db.database,
      handle(hangs, hung),
      handle(job, () => undefined),
    );
    const ids = (await leasehold.enqueueMany([{ job: hangs }, { job: hangs }])).map(idOf);
    await leasehold.enqueueMany(Array.from({ length: 5 }, () => ({ job, priority: 5 })));
    place.work(leasehold, { concurrency: 2 });
    await place.completed(5);
    expect(await counts(place.db)).toEqual({ completed: 5, failed: 2 });
    for (const id of ids)
      expect(await rowOf(place.db, id)).toMatchObject({ last_error_code: "TIMEOUT" });
  });

  test("a job that is always released holds up no other, and comes back once a second (S22)", async () => {
    let runs = 0;
    const later = defineJob("later");
    const leasehold = client(
      place.db.database,
      handle(later, (own) => {
        runs += 1;
        own.release({ after: 0 });
      }),
      handle(job, () => undefined),
    );
    const id = idOf(await leasehold.enqueue(later));
    await leasehold.enqueue(job);
    const start = performance.now();
    place.work(leasehold, { concurrency: 1, poll: 100 });
    await place.completed(1);
    await until(() => runs >= 3, "three releases");
    expect(performance.now() - start).toBeGreaterThan(1_900);
    await until(async () => (await rowOf(place.db, id)).attempts === 0, "the third");
    expect(await rowOf(place.db, id)).toMatchObject({ last_error_code: "RELEASED" });
    expect(await eventsOf(place.db, id)).toMatchObject([
      { event: "released" },
      { event: "released" },
      {},
    ]);
  });

  test("a slot is free only when the outcome was acknowledged, and then at once (S07)", async () => {
    const answer = deferred();
    const database = interposed(place.db.database, async (call) => {
      if (call.name === "finish_and_claim" && call.nth === 1) throw connectionLost();
      if (call.name === "finish_many") await answer.promise;
      return call.go();
    });
    const ran: unknown[] = [];
    const leasehold = client(
      database,
      handle(job, ({ payload }) => void ran.push(payload)),
    );
    await leasehold.enqueueMany(["a", "b"].map((payload) => ({ job, payload })));
    const worker = place.work(leasehold, { ...never, concurrency: 1 });
    await until(() => database.calls.includes("finish_many"), "a second try, without a claim");
    expect([ran, worker.health().running]).toEqual([["a"], 1]);
    answer.resolve();
    await place.completed(2);
    expect(ran).toEqual(["a", "b"]);
    expect(leasehold.toldOf("error")).toMatchObject([{ during: "claim" }]);
  });

  test("an outcome that the database refuses spoils none that it was sent with", async () => {
    const database = interposed(place.db.database, async (call) => {
      const outcomes = (call.args.p_outcomes ?? []) as { result?: unknown }[];
      const completed = (call.args.p_results ?? []) as unknown[];
      for (const result of [...completed, ...outcomes.map((outcome) => outcome.result)]) {
        if (result === "odd") throw Object.assign(new Error("no"), { code: "22P05" });
        // As a constraint or a trigger of the user's would.
        if (result === "worse") throw Object.assign(new Error("never"), { code: "P0001" });
      }
      return call.go();
    });
    const leasehold = client(
      database,
      handle(job, ({ payload }) => payload),
    );
    const payloads = ["a", "odd", "b", "worse", "c"];
    const ids = (await leasehold.enqueueMany(payloads.map((payload) => ({ job, payload })))).map(
      idOf,
    );
    const worker = place.work(leasehold, { ...never, concurrency: 5 });
    await place.completed(4);
    await until(() => worker.health().running === 0, "all slots back");
    expect(leasehold.toldOf("error")).toMatchObject([{ during: "record", id: ids[3] }]);
    const rows = await Promise.all(ids.map((id) => rowOf(place.db, id)));
    expect(rows.map(({ result }) => result)).toEqual(["a", null, "b", null, "c"]);
    expect(rows.map(({ generation }) => generation)).toEqual([1, 1, 1, 1, 1]);
  });

  test("one whose outcome is refused for good gives its slot back, and its lease the job (S07)", async () => {
    const database = interposed(place.db.database, async (call) => {
      const outcomes = (call.args.p_outcomes ?? []) as { generation: number }[];
      const completed = (call.args.p_generations ?? []) as number[];
      const first = [...completed, ...outcomes.map((outcome) => outcome.generation)].includes(1);
      if (first && call.nth < 9) {
        throw Object.assign(new Error("a trigger says no"), { code: "P0001" });
      }
      return call.go();
    });
    const leasehold = client(
      database,
      handle(job, ({ generation }) => generation),
    );
    const id = idOf(await leasehold.enqueue(job));
    const worker = place.work(leasehold, { concurrency: 1, poll: 100 });
    await until(() => worker.health().processed === 1, "the first attempt");
    expect(leasehold.toldOf("error")).toMatchObject([{ during: "record", id }]);
    expect(await kindOf(id)()).toBe("running");
    await age(place.db, id, 61_000);
    await place.completed(1);
    expect(await rowOf(place.db, id)).toMatchObject({ generation: 2, attempts: 2, result: 2 });
  });

  test("the same job under two claims, ending at once, ends once", async () => {
    const gate = deferred();
    let running = 0;
    const leasehold = client(
      place.db.database,
      handle(job, async ({ generation }) => {
        running += 1;
        await gate.promise;
        return generation;
      }),
    );
    const id = idOf(await leasehold.enqueue(job));
    const worker = place.work(leasehold, { concurrency: 2, poll: 100 });
    await until(() => running === 1, "the first claim");
    await age(place.db, id, 61_000);
    await until(() => running === 2, "the second claim");
    gate.resolve();
    await until(() => worker.health().processed === 2, "both");
    expect(await rowOf(place.db, id)).toMatchObject({ result: 2, generation: 2 });
    expect(await worker.stop()).toMatchObject({ completed: 1, lost: 1 });
  });

  test("a listener that throws and a result that is no JSON change nothing (S10, S31)", async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const leasehold = client(
      place.db.database,
      handle(job, ({ payload }) => (payload === "circle" ? circle : payload)),
    );
    leasehold.on("completed", () => {
      throw new Error("a listener's");
    });
    await leasehold.enqueueMany(["circle", "next"].map((payload) => ({ job, payload })));
    place.work(leasehold, { concurrency: 1 });
    await place.completed(2);
    expect(leasehold.toldOf("completed")[0]).toHaveProperty("resultDropped");
  });
});

describe("what becomes of a worker's jobs on a server", () => {
  const place = workplace("postgres");

  test("an outcome waits for a user's transaction that holds the job, and holds up no other", async () => {
    const user = await place.db.connect();
    const gate = deferred();
    const leasehold = client(
      place.db.database,
      handle(job, ({ payload }) =>
        payload === "held" ? gate.promise.then(() => "done") : payload,
      ),
    );
    const id = idOf(await leasehold.enqueue(job, "held"));
    const worker = place.work(leasehold, { ...never, concurrency: 2 });
    await until(() => worker.health().running === 1, "the job");
    await user.begin();
    await user.query("select from leasehold.jobs where id = $1 for update", [id]);
    gate.resolve();
    await leasehold.enqueueMany(Array.from({ length: 20 }, () => ({ job, payload: "free" })));
    await until(() => worker.health().processed === 20, "the others");
    expect(await rowOf(place.db, id)).toMatchObject({ status: "running" });
    await user.commit();
    await until(() => worker.health().processed === 21, "the held one");
    expect(await rowOf(place.db, id)).toMatchObject({ status: "completed", result: "done" });
    await user.close();
  });

  test("a handler that ends the connections of its own pool costs no slot and no job (S07)", async () => {
    const leasehold = client(
      place.db.database,
      handle(job, async ({ payload }) => {
        if (payload !== "ends them") return payload;
        await place.db.query(
          `select pg_terminate_backend(pid, 5000) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid()`,
        );
        return "kept";
      }),
    );
    const id = idOf(await leasehold.enqueue(job, "ends them"));
    await leasehold.enqueue(job, "next");
    const worker = place.work(leasehold, { concurrency: 1, poll: 200 });
    await until(() => worker.health().processed === 2, "both");
    expect(await rowOf(place.db, id)).toMatchObject({ status: "completed", result: "kept" });
    await until(() => worker.health().listening, "listening again");
    expect(leasehold.toldOf("error").filter(({ during }) => during === "record")).toEqual([]);
    expect(leasehold.toldOf("error").length).toBeLessThanOrEqual(2);
  });

  test("a claim and an outcome that fail now and then cost nothing but time", async () => {
    const fails = ["claim", "finish_many", "finish_and_claim"] as const;
    const database = watched(
      fails.reduce((inner: Database, name) => failing(inner, name, 3), place.db.database),
    );
    const leasehold = client(
      database,
      handle(job, () => setImmediate("done")),
    );
    await leasehold.enqueueMany(Array.from({ length: 20 }, () => ({ job })));
    place.work(leasehold, { ...never, concurrency: 5 });
    await until(async () => (await counts(place.db)).completed === 20, "all");
    expect(countOf(database, "claim")).toBeLessThan(40);
    const told = leasehold.toldOf("error");
    expect(told.length).toBeLessThanOrEqual(6);
    expect(new Set(told.map(({ during }) => during))).toEqual(new Set(["claim"]));
  });
});
