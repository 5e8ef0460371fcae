import { describe, expect, test } from "vitest";
import {
  call,
  claim,
  claimJob,
  enqueue,
  enqueueMany,
  expired,
  lockRow,
  queued,
  running,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const keysOf = (jobs: Record<string, unknown>[]) => jobs.map(({ key }) => key);

describe("claim and reap", () => {
  test("a claim skips what a reap has not committed, and takes it afterwards", async () => {
    await expired(race, { key: "k" });
    const [reaper, claimer] = [await race.session(), await race.impatient()];
    await reaper.begin();
    expect(await call(reaper, "reap")).toBe(1);
    expect(await claim(claimer)).toEqual([]);
    await reaper.commit();
    expect(await claim(claimer)).toMatchObject([{ key: "k", generation: 2, attempts: 2 }]);
    expect(await race.stories()).toEqual(["k running 2/5 g2 r1 LEASE_EXPIRED | reaped"]);
  });

  test("a claim reaps and takes the job itself when the reap rolled back", async () => {
    await expired(race, { key: "k" });
    const [reaper, claimer] = [await race.session(), await race.impatient()];
    await reaper.begin();
    await call(reaper, "reap");
    await reaper.rollback();
    expect(await claim(claimer)).toMatchObject([{ key: "k", generation: 2 }]);
    expect(await race.stories()).toEqual(["k running 2/5 g2 r1 LEASE_EXPIRED | reaped"]);
  });

  test("a reap skips what a claim has reaped and taken, before and after its commit", async () => {
    await expired(race, { key: "k" });
    const [claimer, reaper] = [await race.session(), await race.impatient()];
    await claimer.begin();
    expect(await claim(claimer)).toMatchObject([{ key: "k", generation: 2 }]);
    expect(await call(reaper, "reap")).toBe(0);
    await claimer.commit();
    expect(await call(reaper, "reap")).toBe(0);
    expect(await race.stories()).toEqual(["k running 2/5 g2 r1 LEASE_EXPIRED | reaped"]);
  });

  test("a reap takes over what a claim gave back by its rollback", async () => {
    await expired(race, { key: "k", max_attempts: 1 });
    const [claimer, reaper] = [await race.session(), await race.impatient()];
    await claimer.begin();
    expect(await claim(claimer)).toEqual([]);
    expect(await call(reaper, "reap")).toBe(0);
    await claimer.rollback();
    expect(await call(reaper, "reap")).toBe(1);
    expect(await race.stories()).toEqual(["k failed 1/1 g1 r1 LEASE_EXPIRED | reaped"]);
  });
});

describe("claim and cancel", () => {
  test("a cancel waits for a claim, and then asks the worker to stop", async () => {
    const id = await queued(race, { key: "k" });
    const [claimer, user] = await race.pair();
    await claimer.begin();
    await claim(claimer);
    const waiting = await race.blocked(user, (on) => call(on, "cancel", id));
    await claimer.commit();
    expect(await waiting.answer).toEqual({ outcome: "requested", status: "running" });
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1 cancelling | cancel_requested"]);
  });

  test("a cancel ends the job when the claim that it waited for rolled back", async () => {
    const id = await queued(race, { key: "k" });
    const [claimer, user] = await race.pair();
    await claimer.begin();
    await claim(claimer);
    const waiting = await race.blocked(user, (on) => call(on, "cancel", id));
    await claimer.rollback();
    expect(await waiting.answer).toEqual({ outcome: "cancelled", status: "cancelled" });
    expect(await race.stories()).toEqual(["k cancelled 0/5 g0 r1 | cancelled"]);
  });

  test.each(["commit", "rollback"] as const)(
    "a claim skips a job that is being cancelled; after the %s it knows",
    async (end) => {
      const id = await queued(race, { key: "k" });
      const [user, claimer] = [await race.session(), await race.impatient()];
      await user.begin();
      expect(await call(user, "cancel", id)).toMatchObject({ outcome: "cancelled" });
      expect(await claim(claimer)).toEqual([]);
      expect(await claimJob(claimer, id)).toEqual([]);
      await user[end]();
      expect(await claim(claimer)).toHaveLength(end === "commit" ? 0 : 1);
      expect(await race.stories()).toEqual([
        end === "commit" ? "k cancelled 0/5 g0 r1 | cancelled" : "k running 1/5 g1 r1",
      ]);
    },
  );

  test("cancel_many waits for a claim of one of its jobs, and tells the two apart", async () => {
    const [a, b] = await enqueueMany(race, [{ key: "a" }, { key: "b" }]);
    const [claimer, user] = await race.pair();
    await claimer.begin();
    await claimJob(claimer, b.id);
    const waiting = await race.blocked(user, (on) =>
      call(on, "cancel_many", { ids: [b.id, a.id] }),
    );
    await claimer.commit();
    expect(await waiting.answer).toEqual({ cancelled: 1, requested: 1, skipped: [] });
    expect(await race.stories()).toEqual([
      "a cancelled 0/5 g0 r1 | cancelled",
      "b running 1/5 g1 r1 cancelling | cancel_requested",
    ]);
  });
});

describe("claim and pause", () => {
  test("a pause counts from its commit on, and neither waits for the other", async () => {
    await enqueueMany(race, [{ key: "a" }, { key: "b" }, { key: "c" }]);
    const [operator, claimer] = [await race.impatient(), await race.impatient()];
    await operator.begin();
    expect(await call(operator, "pause", "mail")).toBe(true);
    await claimer.begin();
    expect(keysOf(await claim(claimer))).toEqual(["a"]);
    await operator.commit();
    expect(await claim(claimer)).toEqual([]);
    await claimer.commit();
    expect(await call(operator, "resume", "mail")).toBe(true);
    expect(keysOf(await claim(claimer, 5))).toEqual(["b", "c"]);
  });

  test("a pause does not wait for a claim that has not committed, whose job runs on", async () => {
    await queued(race, { key: "k" });
    const [claimer, operator] = [await race.session(), await race.impatient()];
    await claimer.begin();
    expect(await claim(claimer)).toHaveLength(1);
    expect(await call(operator, "pause", "mail")).toBe(true);
    await claimer.commit();
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });
});

describe("claim and an enqueue that replaces", () => {
  const replace = { key: "k", on_conflict: "replace" };

  test.each(["commit", "rollback"] as const)(
    "a claim skips a job that is being replaced; after the %s it has the right payload",
    async (end) => {
      const { id } = await enqueue(race, { key: "k" }, "old");
      const [user, claimer] = [await race.session(), await race.impatient()];
      await user.begin();
      expect(await enqueue(user, replace, "new")).toMatchObject({ outcome: "replaced", id });
      expect(await claim(claimer)).toEqual([]);
      await user[end]();
      const payload = end === "commit" ? "new" : "old";
      expect(await claim(claimer)).toMatchObject([{ id, payload, generation: 1 }]);
    },
  );

  test("an enqueue waits for a claim, and does not change the payload of what runs", async () => {
    const { id } = await enqueue(race, { key: "k" }, "old");
    const [claimer, user] = await race.pair();
    await claimer.begin();
    expect(await claim(claimer)).toMatchObject([{ id, payload: "old" }]);
    const waiting = await race.blocked(user, (on) => enqueue(on, replace, "new"));
    await claimer.commit();
    expect(await waiting.answer).toMatchObject({
      outcome: "conflict",
      holder: { id, status: "running" },
    });
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
    expect(await race.value("select payload from leasehold.jobs")).toBe("old");
  });

  test("an enqueue that found the job in the queue replaces nothing once it is claimed", async () => {
    const { id } = await enqueue(race, { key: "k" }, "old");
    const [claimer, user] = await race.pair();
    await claimer.begin();
    // A lock alone does not keep the enqueue from seeing its holder: it waits to replace it.
    await lockRow(claimer, id);
    const waiting = await race.blocked(user, (on) => enqueue(on, replace, "new"));
    expect(await claim(claimer)).toMatchObject([{ id, payload: "old" }]);
    await claimer.commit();
    expect(await waiting.answer).toMatchObject({
      outcome: "conflict",
      holder: { id, status: "running" },
    });
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
    expect(await race.value("select payload from leasehold.jobs")).toBe("old");
  });

  test("an enqueue that found the job in the queue makes a new one once it is cancelled", async () => {
    const { id } = await enqueue(race, { key: "k" }, "old");
    const [other, user] = await race.pair();
    await other.begin();
    await lockRow(other, id);
    const waiting = await race.blocked(user, (on) => enqueue(on, replace, "new"));
    expect(await call(other, "cancel", id)).toMatchObject({ outcome: "cancelled" });
    await other.commit();
    expect(await waiting.answer).toMatchObject({ outcome: "created" });
    expect(await race.stories()).toEqual([
      "k cancelled 0/5 g0 r1 | cancelled",
      "k queued 0/5 g0 r1",
    ]);
  });

  test("an enqueue replaces when the claim that it waited for rolled back", async () => {
    const { id } = await enqueue(race, { key: "k" }, "old");
    const [claimer, user] = await race.pair();
    await claimer.begin();
    await claim(claimer);
    const waiting = await race.blocked(user, (on) => enqueue(on, replace, "new"));
    await claimer.rollback();
    expect(await waiting.answer).toEqual({ outcome: "replaced", id, status: "queued" });
    expect(await claim(race)).toMatchObject([{ id, payload: "new" }]);
  });
});

describe("claim and run_now", () => {
  const later = { key: "k", delay_ms: 60_000 };

  test("a claim takes a delayed job from the commit of its run_now on", async () => {
    const id = await queued(race, later);
    const [operator, claimer] = [await race.session(), await race.impatient()];
    await operator.begin();
    expect(await call(operator, "run_now", id)).toMatchObject({ outcome: "due" });
    expect(await claim(claimer)).toEqual([]);
    expect(await claimJob(claimer, id)).toEqual([]);
    await operator.commit();
    expect(await claim(claimer)).toMatchObject([{ id }]);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1 | run_now"]);
  });

  test.each(["commit", "rollback"] as const)(
    "run_now waits for a claim, and decides after its %s",
    async (end) => {
      const id = await queued(race, { key: "k" });
      const [claimer, operator] = await race.pair();
      await claimer.begin();
      await claim(claimer);
      const waiting = await race.blocked(operator, (on) => call(on, "run_now", id));
      await claimer[end]();
      expect(await waiting.answer).toEqual(
        end === "commit"
          ? { outcome: "wrong_status", id, status: "running" }
          : { outcome: "due", id, status: "queued" },
      );
    },
  );
});

test("a job of another kind is claimed while a rival holds all of this one", async () => {
  await running(race, { key: "a" });
  await enqueueMany(race, [{ key: "b" }, { key: "c", kind: "sms" }]);
  const [first, second] = [await race.session(), await race.impatient()];
  await first.begin();
  expect(keysOf(await claim(first, 10))).toEqual(["b"]);
  expect(keysOf(await claim(second, 10, { kinds: ["mail", "sms"] }))).toEqual(["c"]);
  await first.rollback();
});
