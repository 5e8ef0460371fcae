import { describe, expect, test } from "vitest";
import {
  call,
  claim,
  complete,
  enqueue,
  expired,
  fail,
  failed,
  finishMany,
  guard,
  release,
  running,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const requested = { outcome: "requested", status: "running" };

describe("complete and cancel", () => {
  test("a cancel that waited for the completion finds the job finished", async () => {
    const job = await running(race, { key: "k" });
    const [worker, user] = await race.pair();
    await worker.begin();
    expect(await complete(worker, job)).toBe(true);
    const waiting = await race.blocked(user, (on) => call(on, "cancel", job.id));
    await worker.commit();
    expect(await waiting.answer).toEqual({ outcome: "finished", status: "completed" });
    expect(await race.stories()).toEqual(["k completed 1/5 g1 r1 result=done"]);
  });

  test("a cancel asks the worker to stop when the completion rolled back", async () => {
    const job = await running(race, { key: "k" });
    const [worker, user] = await race.pair();
    await worker.begin();
    await complete(worker, job);
    const waiting = await race.blocked(user, (on) => call(on, "cancel", job.id));
    await worker.rollback();
    expect(await waiting.answer).toEqual(requested);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1 cancelling | cancel_requested"]);
  });

  test("a completion that waited for the cancel still completes: the work is done", async () => {
    const job = await running(race, { key: "k" });
    const [user, worker] = await race.pair();
    await user.begin();
    expect(await call(user, "cancel", job.id)).toEqual(requested);
    const waiting = await race.blocked(worker, (on) => complete(on, job));
    await user.commit();
    expect(await waiting.answer).toBe(true);
    expect(await race.stories()).toEqual([
      "k completed 1/5 g1 r1 cancelling result=done | cancel_requested",
    ]);
  });

  test("two completions under one claim at once are one: both answer true", async () => {
    const job = await running(race, { key: "k" });
    const [first, second] = await race.pair();
    await first.begin();
    expect(await complete(first, job, "first")).toBe(true);
    const waiting = await race.blocked(second, (on) => complete(on, job, "second"));
    await first.commit();
    expect(await waiting.answer).toBe(true);
    expect(await race.stories()).toEqual(["k completed 1/5 g1 r1 result=first"]);
  });
});

describe("cancel and the outcomes that are not a success", () => {
  const outcomes = [
    { name: "fail", act: fail, story: "BROKEN", answer: "cancelled", event: "failed" },
    { name: "release", act: release, story: "", answer: true, event: "released" },
  ];

  test.each(outcomes)(
    "a $name that waited for the cancel ends the job as cancelled",
    async ({ act, story, answer, event }) => {
      const job = await running(race, { key: "k" });
      const [user, worker] = await race.pair();
      await user.begin();
      expect(await call(user, "cancel", job.id)).toEqual(requested);
      const waiting = await race.blocked(worker, (on) => act(on, job));
      await user.commit();
      expect(await waiting.answer).toBe(answer);
      const [told = ""] = await race.stories();
      expect(told).toMatch(new RegExp(`^k cancelled [01]/5 g1 r1 ${story}`));
      expect(told.endsWith(`| cancel_requested, ${event}`)).toBe(true);
    },
  );

  test.each(outcomes)(
    "a cancel that waited for the $name ends the job in the queue",
    async ({ act, event }) => {
      const job = await running(race, { key: "k" });
      const [worker, user] = await race.pair();
      await worker.begin();
      await act(worker, job);
      const waiting = await race.blocked(user, (on) => call(on, "cancel", job.id));
      await worker.commit();
      expect(await waiting.answer).toEqual({ outcome: "cancelled", status: "cancelled" });
      const [told = ""] = await race.stories();
      expect(told).toMatch(/^k cancelled [01]\/5 g1 r1/);
      expect(told.endsWith(`| ${event}, cancelled`)).toBe(true);
    },
  );

  test("a cancel that waited for the last failure finds the job finished", async () => {
    const job = await running(race, { key: "k", max_attempts: 1 });
    const [worker, user] = await race.pair();
    await worker.begin();
    expect(await fail(worker, job)).toBe("failed");
    const waiting = await race.blocked(user, (on) => call(on, "cancel", job.id));
    await worker.commit();
    expect(await waiting.answer).toEqual({ outcome: "finished", status: "failed" });
    expect(await race.stories()).toEqual(["k failed 1/1 g1 r1 BROKEN | failed"]);
  });

  test("a cancel that waited for a reap decides on what the reap left", async () => {
    const job = await expired(race, { key: "k" });
    const [reaper, user] = await race.pair();
    await reaper.begin();
    await call(reaper, "reap");
    const waiting = await race.blocked(user, (on) => call(on, "cancel", job.id));
    await reaper.commit();
    expect(await waiting.answer).toEqual({ outcome: "cancelled", status: "cancelled" });
    expect(await race.stories()).toEqual([
      "k cancelled 1/5 g1 r1 LEASE_EXPIRED | reaped, cancelled",
    ]);
  });

  test("a cancel makes a reap skip the job; the next reap ends it as cancelled", async () => {
    const job = await running(race, { key: "k" });
    const [user, reaper] = [await race.session(), await race.impatient()];
    await user.begin();
    expect(await call(user, "cancel", job.id)).toEqual(requested);
    expect(await call(reaper, "reap")).toBe(0);
    await user.commit();
    await race.query("update leasehold.jobs set lease_until = now() - interval '1 s'");
    expect(await call(reaper, "reap")).toBe(1);
    expect(await race.stories()).toEqual([
      "k cancelled 1/5 g1 r1 LEASE_EXPIRED cancelling | cancel_requested, reaped",
    ]);
  });
});

describe("complete and an enqueue that asks for a rerun", () => {
  const rerun = { key: "k", on_conflict: "rerun" };

  test("the completion that waited for the enqueue starts the next run", async () => {
    const job = await running(race, { key: "k" });
    const [user, worker] = await race.pair();
    await user.begin();
    expect(await enqueue(user, rerun, "next")).toEqual({
      outcome: "rerun",
      id: job.id,
      status: "running",
    });
    const waiting = await race.blocked(worker, (on) => complete(on, job));
    await user.commit();
    expect(await waiting.answer).toBe(true);
    expect(await complete(worker, job)).toBe(true);
    expect(await race.stories()).toEqual(["k queued 0/5 g1 r2 | rerun"]);
    expect(await claim(race)).toMatchObject([{ id: job.id, payload: "next", generation: 2 }]);
  });

  test("the completion is the end when the enqueue that it waited for rolled back", async () => {
    const job = await running(race, { key: "k" });
    const [user, worker] = await race.pair();
    await user.begin();
    await enqueue(user, rerun, "next");
    const waiting = await race.blocked(worker, (on) => complete(on, job));
    await user.rollback();
    expect(await waiting.answer).toBe(true);
    expect(await race.stories()).toEqual(["k completed 1/5 g1 r1 result=done"]);
  });

  test.each(["commit", "rollback"] as const)(
    "the enqueue that waited for the completion decides after its %s",
    async (end) => {
      const job = await running(race, { key: "k" });
      const [worker, user] = await race.pair();
      await worker.begin();
      expect(await complete(worker, job)).toBe(true);
      const waiting = await race.blocked(user, (on) => enqueue(on, rerun, "next"));
      await worker[end]();
      const { outcome, id } = await waiting.answer;
      expect([outcome, id === job.id]).toEqual(
        end === "commit" ? ["created", false] : ["rerun", true],
      );
      expect(await race.stories()).toEqual(
        end === "commit"
          ? ["k completed 1/5 g1 r1 result=done", "k queued 0/5 g0 r1"]
          : ["k running 1/5 g1 r1 rerun=next"],
      );
    },
  );

  test("an enqueue that found the job running makes a new one once it has completed", async () => {
    const job = await running(race, { key: "k" });
    const [worker, user] = await race.pair();
    await worker.begin();
    // A guard's lock does not keep the enqueue from seeing its holder: it waits to change it.
    await guard(worker, job);
    const waiting = await race.blocked(user, (on) => enqueue(on, rerun, "next"));
    expect(await complete(worker, job)).toBe(true);
    await worker.commit();
    expect(await waiting.answer).toMatchObject({ outcome: "created" });
    expect(await race.stories()).toEqual([
      "k completed 1/5 g1 r1 result=done",
      "k queued 0/5 g0 r1",
    ]);
  });

  test("an enqueue that found the job running is a conflict once its cancel is requested", async () => {
    const job = await running(race, { key: "k" });
    const [other, user] = await race.pair();
    await other.begin();
    await guard(other, job);
    const waiting = await race.blocked(user, (on) => enqueue(on, rerun, "next"));
    expect(await call(other, "cancel", job.id)).toEqual(requested);
    await other.commit();
    expect(await waiting.answer).toMatchObject({ outcome: "conflict", holder: { id: job.id } });
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1 cancelling | cancel_requested"]);
  });

  test("finish_many answers busy while the enqueue is uncommitted, and then reruns", async () => {
    const job = await running(race, { key: "k" });
    const [user, worker] = [await race.session(), await race.impatient()];
    await user.begin();
    await enqueue(user, rerun, "next");
    expect(await finishMany(worker, [job])).toEqual({ done: [], refused: [], busy: [job.id] });
    await user.commit();
    expect(await finishMany(worker, [job])).toEqual({
      done: [{ id: job.id, status: "queued" }],
      refused: [],
      busy: [],
    });
    expect(await race.stories()).toEqual(["k queued 0/5 g1 r2 | rerun"]);
  });

  test("a rerun that meets a reap in the making runs the new payload", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, user] = await race.pair();
    await reaper.begin();
    await call(reaper, "reap");
    const waiting = await race.blocked(user, (on) => enqueue(on, rerun, "next"));
    await reaper.commit();
    expect(await waiting.answer).toMatchObject({ outcome: "replaced", id: late.id });
    expect(await race.stories()).toEqual(["k queued 1/5 g1 r1 LEASE_EXPIRED | reaped, replaced"]);
    expect(await claim(race)).toMatchObject([{ id: late.id, payload: "next", generation: 2 }]);
  });

  test("of two reruns at once the later payload runs, and the job runs once more", async () => {
    const job = await running(race, { key: "k" });
    const [first, second] = await race.pair();
    await first.begin();
    await enqueue(first, rerun, "first");
    const waiting = await race.blocked(second, (on) => enqueue(on, rerun, "second"));
    await first.commit();
    expect(await waiting.answer).toMatchObject({ outcome: "rerun", id: job.id });
    expect(await complete(race, job)).toBe(true);
    expect(await claim(race, 5)).toMatchObject([{ id: job.id, payload: "second" }]);
    expect(await race.stories()).toEqual(["k running 1/5 g2 r2 | rerun"]);
  });
});

describe("a refused write and the end of its job's story", () => {
  test.each(["remove", "prune"])("its trace does not outlive the job: %s", async (name) => {
    const id = await failed(race, { key: "k" });
    const [worker, operator] = await race.pair();
    await worker.begin();
    expect(await fail(worker, { id, generation: 1 })).toBeNull();
    const going = await race.started(operator, (on) =>
      name === "remove" ? call(on, name, id) : call(on, name, { older_than_ms: 0 }),
    );
    await worker.commit();
    await going.answer;
    await call(race, "prune", { older_than_ms: 0 });
    expect(await race.stories()).toEqual([]);
    expect(await call(race, "verify")).toEqual({ ok: true, count: 0, violations: [] });
  });

  test.each(["remove", "prune"])("it waits for no %s, and leaves no trace then", async (name) => {
    const id = await failed(race, { key: "k" });
    const [operator, worker] = [await race.session(), await race.impatient()];
    await operator.begin();
    await (name === "remove"
      ? call(operator, name, id)
      : call(operator, name, { older_than_ms: 0 }));
    expect(await fail(worker, { id, generation: 1 })).toBeNull();
    await operator.commit();
    expect(await call(race, "verify")).toEqual({ ok: true, count: 0, violations: [] });
  });
});
