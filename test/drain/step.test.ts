import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Database, defineJob, handle, type Job } from "../../src/index.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { aborted, client, deferred, eventsOf, rowOf } from "./support/client.ts";
import { interposed } from "./support/interposed.ts";

const work = defineJob("work", { lease: "1m", backoff: [0], key: () => "the only one" });

type Handler = (job: Job<unknown>) => unknown;

describe.each(backends)("job.step on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  /** Enqueues the job where there is none, and runs one attempt with this handler. */
  async function attempt(handler: Handler, database: Database = db.database) {
    const leasehold = client(database, handle(work, handler));
    const answer = await leasehold.enqueue(work);
    if (answer.outcome === "insufficient") throw new Error(answer.outcome);
    const id = ("id" in answer ? answer.id : answer.holder.id) as string;
    const { jobs } = await leasehold.drain({ maxJobs: 1 });
    return { id, leasehold, job: jobs[0], row: await rowOf(db, id) };
  }

  /** What is stored, by name. */
  const stored = async (): Promise<Record<string, unknown>> => {
    const rows = await db.query("select name, value from leasehold.steps order by saved_at, name");
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  };

  const stop = () => {
    throw new Error("interrupted");
  };

  /** Runs the step in an attempt that then fails, and in a second one: what each was given. */
  async function twice<T>(step: () => Promise<T> | T): Promise<{ given: T[]; ran: number }> {
    const given: T[] = [];
    let ran = 0;
    const handler = (job: Job<unknown>) =>
      job.step("a", () => {
        ran += 1;
        return step();
      });
    await attempt(async (job) => {
      given.push(await handler(job));
      stop();
    });
    await attempt(async (job) => given.push(await handler(job)));
    return { given, ran };
  }

  test("runs once for a job, and gives an attempt after a failure what it stored", async () => {
    const { given, ran } = await twice(() => ({ receipt: 7, at: [null, "é", 0.5] }));
    expect(ran).toBe(1);
    expect(given).toEqual(Array(2).fill({ receipt: 7, at: [null, "é", 0.5] }));
  });

  test.each<[string, unknown, unknown]>([
    ["null", null, null],
    ["undefined", undefined, null],
    ["false", false, false],
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["what toJSON makes of it", { toJSON: () => ({ as: "json" }) }, { as: "json" }],
    ["an object with holes", { a: undefined, b: 1 }, { b: 1 }],
    ["a number that only jsonb writes out", 1e300, 1e300],
  ])("answers %s in its stored form, alike at the first run and the next", async (_, value, as) => {
    expect(await twice(() => value)).toEqual({ given: [as, as], ran: 1 });
  });

  test("goes on where a killed attempt stopped", async () => {
    const ran: string[] = [];
    const handler = (until: number): Handler => {
      return async (job) => {
        const done: unknown[] = [];
        for (const name of ["a", "b", "c"].slice(0, until)) {
          done.push(await job.step(name, () => ran.push(`${name} ${job.generation}`)));
        }
        return done;
      };
    };
    const killed = interposed(db.database, async (call) => {
      if (call.name === "finish_many") throw Object.assign(new Error("gone"), { code: "22000" });
      return call.go();
    });
    const { id } = await attempt(handler(2), killed);
    expect(await rowOf(db, id)).toMatchObject({ status: "running", generation: 1 });
    await age(db, id, 61_000);
    const { row } = await attempt(handler(3));
    expect(ran).toEqual(["a 1", "b 1", "c 2"]);
    expect(row).toMatchObject({
      status: "completed",
      result: [1, 2, 3],
      last_error_code: "LEASE_EXPIRED",
    });
  });

  test("asks for no names at the first claim, and once at a later one, however many run", async () => {
    const passing = () => interposed(db.database, (call) => call.go());
    const [first, second] = [passing(), passing()];
    const handler: Handler = (job) =>
      Promise.all(["a", "b", "c"].map((name) => job.step(name, () => name)));
    await attempt((job) => Promise.resolve(handler(job)).then(stop), first);
    expect(first.calls.filter((name) => name.startsWith("step"))).toEqual(
      Array(3).fill("step_save"),
    );
    const { row } = await attempt(handler, second);
    expect(row.result).toEqual(["a", "b", "c"]);
    expect(second.calls.filter((name) => name.startsWith("step"))).toEqual([
      "step_names",
      ...Array(3).fill("step_load"),
    ]);
  });

  test("runs again in a rerun, which has another payload", async () => {
    let ran = 0;
    const handler: Handler = (job) => job.step("a", () => ++ran);
    const { id } = await attempt(async (job) => {
      await handler(job);
      const leasehold = client(db.database);
      const again = await leasehold.enqueue(work, "again", { onConflict: "rerun" });
      expect(again.outcome).toBe("rerun");
    });
    expect(await stored()).toEqual({});
    await attempt(handler);
    expect(await rowOf(db, id)).toMatchObject({ run: 2, result: 2 });
  });

  test("stores a repeated name by the order of the calls, not of their ends", async () => {
    const slow = deferred();
    const use = (job: Job<unknown>, values: string[]) =>
      Promise.all(
        values.map((value, i) =>
          job.step("a", async () => {
            if (i === 0) await slow.promise;
            else if (i === 2) slow.resolve();
            return value;
          }),
        ),
      );
    await attempt((job) => use(job, ["first", "second", "third"]).then(stop));
    expect(await stored()).toEqual({ a: "first", "a#2": "second", "a#3": "third" });
    const { row } = await attempt((job) => use(job, ["x", "y", "z", "fourth"]));
    expect(row.result).toEqual(["first", "second", "third", "fourth"]);
  });

  test("of steps side by side keeps those that ended, whatever the others do", async () => {
    const ran: string[] = [];
    const handler =
      (fails: boolean): Handler =>
      async (job) => {
        const step = (name: string) =>
          job.step(name, () => {
            ran.push(name);
            if (name === "b" && fails) throw new Error("b broke");
            return name;
          });
        const all = await Promise.allSettled(["a", "b", "c"].map(step));
        const broken = all.find(({ status }) => status === "rejected");
        if (broken?.status === "rejected") throw broken.reason;
      };
    const { row } = await attempt(handler(true));
    expect(row).toMatchObject({ status: "queued", last_error_message: "b broke" });
    await attempt(handler(false));
    expect(ran).toEqual(["a", "b", "c", "b"]);
  });

  test("of a stale worker is refused with LH001, and its outcome is dropped", async () => {
    let because: unknown;
    const { id, job, row } = await attempt(async (own) => {
      const stale = own.step("a", async () => {
        await age(db, own.id, 61_000);
        await db.database.call("claim", { p_kinds: ["work"] });
        return "stale";
      });
      await expect(stale).rejects.toMatchObject({ code: "LH001", name: "LeaseLostError" });
      because = await Promise.race([aborted(own.signal), stale.catch((error) => error.code)]);
      return stale;
    });
    expect(because).toBe("LH001");
    expect(job).toMatchObject({ outcome: "lost" });
    expect(row).toMatchObject({ status: "running", generation: 2, result: null });
    expect(await stored()).toEqual({});
    expect(await eventsOf(db, id)).toContainEqual(
      expect.objectContaining({ event: "refused", generation: 1 }),
    );
  });

  test("of a claim that ran out but nobody took is stored, and renews the lease", async () => {
    const { row } = await attempt(async (own) => {
      await own.step("a", () => age(db, own.id, 61_000));
      expect(await db.database.call("reap", {})).toBe(0);
    });
    expect(row).toMatchObject({ status: "completed", generation: 1 });
  });

  test("refuses an answer that is no JSON (LH103), which stores nothing", async () => {
    const { row } = await attempt(async (job) => {
      await job.step("a", () => ({ sum: 1n }));
    });
    expect(row.last_error_code).toBe("LH103");
    expect(row.last_error_message).toMatch(/^the result of step "a"\.sum is 1n/);
    expect(await stored()).toEqual({});
  });

  test.each([
    ["", "LH002"],
    [" ", "LH002"],
    ["a\nb", "LH002"],
    [5, "LH002"],
    ["a#2", "LH002"],
    ["#0", "LH002"],
    ["x".repeat(491), "LH004"],
  ])("refuses the name %j and runs nothing", async (name, code) => {
    let ran = 0;
    const { row } = await attempt(async (job) => {
      const refused = job.step(name as string, () => ++ran);
      await expect(refused).rejects.toMatchObject({
        ...{ code, message: expect.stringMatching(/^the name of a step /) },
      });
      await job.step("a#", () => "fine");
      await job.step("x".repeat(490), () => "fine");
    });
    expect([row.status, ran]).toEqual(["completed", 0]);
  });

  test("does not start when the handler has been told to stop", async () => {
    let ran = 0;
    await attempt(async (job) => {
      await job.step("a", () => ++ran);
      await client(db.database).cancel(job.id);
      await job.extend();
      await expect(job.step("b", () => ++ran)).rejects.toMatchObject({ because: "cancel" });
    });
    expect(ran).toBe(1);
  });

  test("is stored where the signal aborts while it runs: the work is done", async () => {
    await attempt(async (job) => {
      await job.step("a", async () => {
        await client(db.database).cancel(job.id);
        await job.extend();
        return job.signal.reason.because;
      });
    });
    expect(await stored()).toEqual({ a: "cancel" });
  });

  test("is refused in and after job.transaction, at once", async () => {
    let ran = 0;
    const refusal = {
      code: "LH002",
      message: expect.stringContaining("Call job.step before job.transaction"),
    };
    const { row } = await attempt(async (job) => {
      const failed = job.transaction(async () => {
        await expect(job.step("a", () => ++ran)).rejects.toMatchObject(refusal);
        throw new Error("rolled back");
      });
      await expect(failed).rejects.toThrow("rolled back");
      expect(await job.step("b", () => "between")).toBe("between");
      await job.transaction(() => "done");
      await expect(job.step("c", () => ++ran)).rejects.toMatchObject(refusal);
    });
    expect([row.status, ran]).toEqual(["completed", 0]);
    expect(await stored()).toEqual({ b: "between" });
  });
});
