import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const id = "0198a000-0000-7000-8000-000000000001";
const nothing = { due: false, next_ms: null, idle_workers: 1 };
const due = { due: true, next_ms: null, idle_workers: 1 };

describe.each(backends)("what worker_beat says there is to do, on %s", (backend) => {
  const { call, rows, enqueue, running, age } = useDatabase(backend);

  const beat = (kinds = ["k", "j"]) =>
    call("worker_beat", id, { name: "w", kinds, concurrency: 5, idle: true });
  const soon = (ms: number) => ({ ...nothing, next_ms: within(ms) });

  test("nothing in an empty queue, and nothing where all jobs are others'", async () => {
    expect(await beat()).toEqual(nothing);
    await call("enqueue", "theirs", "{}", { delay_ms: 1000 });
    await call("enqueue", "theirs");
    expect(await beat()).toEqual(nothing);
  });

  test("a due job", async () => {
    await enqueue();
    expect(await beat()).toEqual(due);
    await rows("claim", ["k"]);
    expect(await beat()).toMatchObject({ due: false });
  });

  test("when the first delayed job of any kind and priority is due", async () => {
    await enqueue({ delay_ms: 90_000 });
    expect(await beat()).toEqual(soon(90_000));
    await enqueue({ delay_ms: 60_000, priority: 5 });
    expect(await beat()).toEqual(soon(60_000));
    await enqueue({ delay_ms: 70_000, priority: -5 });
    expect(await beat()).toEqual(soon(60_000));
    await call("enqueue", "j", "{}", { delay_ms: 30_000, priority: 9 });
    expect(await beat()).toEqual(soon(30_000));
    expect(await beat(["k"])).toEqual(soon(60_000));
  });

  test("not when a paused kind's is", async () => {
    await enqueue();
    await call("enqueue", "j", "{}", { delay_ms: 60_000 });
    await call("pause", "k");
    expect(await beat()).toEqual(soon(60_000));
    await call("pause", "j");
    expect(await beat()).toEqual(nothing);
    await call("resume", "k");
    expect(await beat()).toEqual(due);
  });

  test("when a lease runs out, and due when it has", async () => {
    const job = await running({}, 60_000);
    expect(await beat()).toEqual(soon(60_000));
    await age(job, 20_000);
    expect(await beat()).toEqual(soon(40_000));
    await age(job, 40_000);
    expect(await beat()).toEqual(due);
    expect(await call("reap")).toBe(1);
    expect(await beat()).toEqual(due);
  });

  test("when a job that was not started in time is to be ended, and due when it is", async () => {
    const job = await enqueue({ delay_ms: 60_000, start_within_ms: 1000 });
    expect(await beat()).toEqual(soon(60_000));
    await rows("claim", ["k"]);
    await call("enqueue", "j", "{}", { delay_ms: 60_000 });
    await age(job, 60_500);
    expect(await beat()).toEqual(due);
    await age(job, 1000);
    expect(await beat()).toEqual(due);
    await call("reap");
    expect(await beat()).toEqual(soon(60_000));
  });

  test("nothing to a worker that has no slot free", async () => {
    await enqueue();
    const busy = { name: "w", kinds: ["k"], concurrency: 1 };
    expect(await call("worker_beat", id, busy)).toEqual({ ...nothing, idle_workers: 0 });
  });
});

/** A little less than `ms`: what the calls since took. */
function within(ms: number) {
  return {
    asymmetricMatch: (value: unknown) => {
      return typeof value === "number" && value <= ms && value > ms - 20_000;
    },
    toString: () => `a little less than ${ms}`,
  };
}
