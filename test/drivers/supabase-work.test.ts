import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle, type Leasehold, type SingleFlightOptions } from "../../src/index.ts";
import { supabase } from "../../src/supabase/index.ts";
import { client, counts, deferred, rowOf, until } from "../drain/support/client.ts";
import { type SupabaseProject, startSupabaseProject } from "../support/supabase-project.ts";

const job = defineJob("job", { backoff: [0] });
const thirty = Array.from({ length: 30 }, (_, payload) => ({ job, payload }));

let project: SupabaseProject;
const opened: Leasehold[] = [];
const closing = <Client extends Leasehold>(leasehold: Client): Client => {
  opened.push(leasehold);
  return leasehold;
};
beforeAll(async () => {
  project = await startSupabaseProject();
});
beforeEach(() => project.reset());
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});
afterAll(() => project?.close());

/** A client whose handler notes each run as "id generation". */
function noting(runs: string[], work: () => unknown = () => undefined) {
  const database = supabase(project.client());
  const handler = handle(job, async ({ id, generation }) => {
    runs.push(`${id} ${generation}`);
    return work();
  });
  return closing(client(database, handler));
}

const unique = (runs: string[]) => new Set(runs).size;

describe("over rpc", () => {
  test("a drain works through 30 jobs", async () => {
    const runs: string[] = [];
    const leasehold = noting(runs);
    await leasehold.enqueueMany(thirty);
    const report = await leasehold.drain({ maxJobs: 30 });
    expect(report).toMatchObject({ completed: 30, unrecorded: 0, reason: "maxJobs" });
    expect(unique(runs)).toBe(30);
    expect(await counts(project)).toEqual({ completed: 30 });
  });

  test("a worker polls, works through 30 jobs side by side, and stops", async () => {
    const runs: string[] = [];
    const [first, released] = [deferred(), deferred()];
    const leasehold = noting(runs, async () => {
      if (runs.length === 5) first.resolve();
      await released.promise;
    });
    const worker = leasehold.work({ concurrency: 5, poll: 100, signals: false });
    await leasehold.enqueueMany(thirty);
    await first.promise; // five at a time
    expect(worker.health()).toMatchObject({ running: 5, listening: false });
    released.resolve();
    await until(async () => (await counts(project)).completed === 30, "all completed");
    expect(await worker.stop()).toMatchObject({ processed: 30, completed: 30 });
    expect([runs.length, unique(runs)]).toEqual([30, 30]);
    expect(await project.query("select * from leasehold.workers")).toEqual([]);
  });

  test("two drains that overlap never run a job under one generation twice", async () => {
    const runs: string[] = [];
    const clients = [noting(runs), noting(runs)];
    await clients[0]?.enqueueMany(thirty);
    const drained = await Promise.all(
      [...clients, ...clients].map((each) => each.drain({ maxJobs: 30 })),
    );
    expect(drained.reduce((sum, { completed }) => sum + completed, 0)).toBe(30);
    expect([runs.length, unique(runs)]).toEqual([30, 30]);
    expect(await counts(project)).toEqual({ completed: 30 });
  });

  test("start answers first, and status shows the work until its end", async () => {
    const [began, finish] = [deferred(), deferred()];
    const assess = defineJob("assess", { key: () => "k" });
    const leasehold = closing(
      client(
        supabase(project.client()),
        handle(assess, async (own) => {
          await own.progress({ percent: 50 });
          began.resolve();
          await finish.promise;
          return { safe: true };
        }),
      ),
    );
    const started = await leasehold.start(assess, {}, { owner: "ann" });
    if (started.outcome !== "created") throw new Error(started.outcome);
    expect(await leasehold.start(assess, {}, { owner: "ann" })).toMatchObject({
      outcome: "conflict",
      holder: { id: started.id },
    });
    await began.promise;
    const status = (owner: string) => leasehold.status(started.id, { owner });
    expect(await status("ann")).toMatchObject({ status: "running", progress: { percent: 50 } });
    expect(await status("bob")).toBeNull();
    finish.resolve();
    await until(async () => (await status("ann"))?.status === "completed", "the end");
    expect(await status("ann")).toMatchObject({ result: { safe: true } });
  });

  test("singleFlight loads once for two processes, and gives any value back", async () => {
    const shared = { ttl: "1h", shared: true } as const satisfies SingleFlightOptions;
    const [one, two] = [noting([]), noting([])];
    const gate = deferred<string>();
    let loads = 0;
    const load = () => {
      loads += 1;
      return gate.promise;
    };
    const first = one.singleFlight("a/?\"'漢", shared, load);
    await until(() => loads === 1, "the load");
    const others = [two, two].map((each) => each.singleFlight("a/?\"'漢", shared, load));
    gate.resolve("tile");
    expect(await Promise.all([first, ...others])).toEqual(["tile", "tile", "tile"]);
    expect(loads).toBe(1);
    expect(await one.singleFlight("null", shared, () => null)).toBeNull();
    expect(await two.singleFlight<unknown>("null", shared, () => "not asked")).toBeNull();
  });

  test("a step runs once for a job, also one that answers null", async () => {
    let [charges, looks, attempts] = [0, 0, 0];
    const leasehold = closing(
      client(
        supabase(project.client()),
        handle(job, async (own) => {
          attempts += 1;
          const charged = await own.step("charge", () => ++charges);
          const none = await own.step("look", () => {
            looks += 1;
            return null;
          });
          if (attempts === 1) throw new Error("interrupted");
          return { charged, none };
        }),
      ),
    );
    const answer = await leasehold.enqueue(job);
    await leasehold.drain();
    await leasehold.drain();
    expect([charges, looks, attempts]).toEqual([1, 1, 2]);
    const row = await rowOf(project, "id" in answer ? answer.id : "");
    expect(row).toMatchObject({ status: "completed", result: { charged: 1, none: null } });
  });

  test("a result that a gateway does not let through is dropped, and the work not done again", async () => {
    project.postgrest.trouble = ({ bytes }) =>
      bytes > 100_000 ? { status: 413, body: "too large" } : undefined;
    const runs: string[] = [];
    const leasehold = noting(runs, () => "x".repeat(200_000));
    const answer = await leasehold.enqueue(job);
    expect(await leasehold.drain()).toMatchObject({ completed: 1, unrecorded: 0 });
    const row = await rowOf(project, "id" in answer ? answer.id : "");
    expect(row).toMatchObject({ status: "completed", result: null });
    expect(leasehold.toldOf("completed")).toMatchObject([
      { resultDropped: expect.stringContaining("HTTP 413") },
    ]);
    expect(runs).toHaveLength(1);
  });
});
