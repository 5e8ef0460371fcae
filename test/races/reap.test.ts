import { describe, expect, test } from "vitest";
import { age } from "../support/ageing.ts";
import {
  type Claim,
  call,
  claim,
  complete,
  expired,
  extend,
  fail,
  finishMany,
  release,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const held = { held: true, busy: true, cancel_requested: false, lease_until: expect.any(String) };
const lost = { held: false, busy: false, cancel_requested: false, lease_until: null };

/** Both ways to reap one job; each answers that it did. */
const reapers = [
  { name: "reap", act: async (on: Parameters<typeof call>[0]) => call(on, "reap") },
  {
    name: "status",
    act: async (on: Parameters<typeof call>[0], { id }: Claim) => {
      return (await call(on, "status", id)).status === "running" ? 0 : 1;
    },
  },
];

describe.each(reapers)("S01: $name on a claim whose worker is late", ({ act }) => {
  test("refuses the complete that waited for it", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, worker] = await race.pair();
    await reaper.begin();
    expect(await act(reaper, late)).toBe(1);
    const waiting = await race.blocked(worker, (on) => complete(on, late));
    await reaper.commit();
    expect(await waiting.answer).toBe(false);
    expect(await race.stories()).toEqual([
      "k queued 1/5 g1 r1 LEASE_EXPIRED | reaped, refused complete",
    ]);
  });

  test("leaves the complete that waited for it to win when it rolls back", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, worker] = await race.pair();
    await reaper.begin();
    expect(await act(reaper, late)).toBe(1);
    const waiting = await race.blocked(worker, (on) => complete(on, late));
    await reaper.rollback();
    expect(await waiting.answer).toBe(true);
    expect(await race.stories()).toEqual(["k completed 1/5 g1 r1 result=done"]);
  });

  test("skips what a complete has not committed, and never touches what it has", async () => {
    const late = await expired(race, { key: "k" });
    const [worker, reaper] = [await race.session(), await race.impatient()];
    await worker.begin();
    expect(await complete(worker, late)).toBe(true);
    expect(await act(reaper, late)).toBe(0);
    await worker.commit();
    expect(await call(reaper, "reap")).toBe(0);
    expect(await call(reaper, "status", late.id)).toMatchObject({ status: "completed" });
    expect(await race.stories()).toEqual(["k completed 1/5 g1 r1 result=done"]);
  });

  test("leaves alone what was claimed anew since it looked", async () => {
    const late = await expired(race, { key: "k" });
    const [rival, reaper] = await race.pair();
    // Reading goes on under this lock, row locks do not: it stops a reap that has looked already.
    await rival.begin();
    await rival.query("lock table leasehold.jobs in exclusive mode");
    const waiting = await race.blocked(reaper, (on) => act(on, late));
    expect(await claim(rival)).toMatchObject([{ id: late.id, generation: 2 }]);
    await rival.commit();
    expect(await waiting.answer).toBe(0);
    expect(await race.stories()).toEqual(["k running 2/5 g2 r1 LEASE_EXPIRED | reaped"]);
  });

  test("leaves alone what was completed since it looked", async () => {
    const late = await expired(race, { key: "k", max_attempts: 1 });
    const [worker, reaper] = await race.pair();
    await worker.begin();
    await worker.query("lock table leasehold.jobs in exclusive mode");
    const waiting = await race.blocked(reaper, (on) => call(on, "reap"));
    expect(await complete(worker, late)).toBe(true);
    await worker.commit();
    expect(await waiting.answer).toBe(0);
    expect(await race.stories()).toEqual(["k completed 1/1 g1 r1 result=done"]);
  });
});

describe("S40: a job on its last attempt whose worker is late", () => {
  test("has failed when the reap came first: the result is not kept", async () => {
    const late = await expired(race, { key: "k", max_attempts: 1 });
    const [reaper, worker] = await race.pair();
    await reaper.begin();
    expect(await call(reaper, "status", late.id)).toMatchObject({ status: "failed" });
    const waiting = await race.blocked(worker, (on) => complete(on, late));
    await reaper.commit();
    expect(await waiting.answer).toBe(false);
    expect(await race.stories()).toEqual([
      "k failed 1/1 g1 r1 LEASE_EXPIRED | reaped, refused complete",
    ]);
  });

  test("has completed when the complete came first: the reap does nothing", async () => {
    const late = await expired(race, { key: "k", max_attempts: 1 });
    const [worker, reaper] = [await race.session(), await race.impatient()];
    await worker.begin();
    expect(await complete(worker, late)).toBe(true);
    expect(await call(reaper, "status", late.id)).toMatchObject({ status: "running" });
    await worker.commit();
    expect(await call(reaper, "status", late.id)).toMatchObject({ status: "completed" });
    expect(await race.stories()).toEqual(["k completed 1/1 g1 r1 result=done"]);
  });
});

const refusals = [
  { name: "fail", act: fail, refused: null, kept: "failed" },
  { name: "release", act: release, refused: false, kept: "released" },
];

describe.each(refusals)("$name against a reap", ({ name, act, refused, kept }) => {
  test("waits for the reap and is refused when it commits", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, worker] = await race.pair();
    await reaper.begin();
    await call(reaper, "reap");
    const waiting = await race.blocked(worker, (on) => act(on, late));
    await reaper.commit();
    expect(await waiting.answer).toBe(refused);
    expect(await race.stories()).toEqual([
      `k queued 1/5 g1 r1 LEASE_EXPIRED | reaped, refused ${name}`,
    ]);
  });

  test("waits for the reap and counts when it rolls back", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, worker] = await race.pair();
    await reaper.begin();
    await call(reaper, "reap");
    const waiting = await race.blocked(worker, (on) => act(on, late));
    await reaper.rollback();
    expect(await waiting.answer).not.toBe(refused);
    const [story] = await race.stories();
    expect(story).toMatch(/^k queued [01]\/5 g1 r1/);
    expect(story).toMatch(new RegExp(`\\| ${kept}$`));
  });

  test("makes the reap skip the job, before and after its commit", async () => {
    const late = await expired(race, { key: "k" });
    const [worker, reaper] = [await race.session(), await race.impatient()];
    await worker.begin();
    expect(await act(worker, late)).not.toBe(refused);
    expect(await call(reaper, "reap")).toBe(0);
    await worker.commit();
    expect(await call(reaper, "reap")).toBe(0);
    expect((await race.stories())[0]).toMatch(new RegExp(`\\| ${kept}$`));
  });
});

describe("extend against a reap", () => {
  test("answers busy while the reap is uncommitted, and then that the claim is lost", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, worker] = [await race.session(), await race.impatient()];
    await reaper.begin();
    await call(reaper, "reap");
    expect(await extend(worker, late)).toEqual(held);
    await reaper.commit();
    expect(await extend(worker, late)).toEqual(lost);
    expect(await race.stories()).toEqual([
      "k queued 1/5 g1 r1 LEASE_EXPIRED | reaped, refused extend",
    ]);
  });

  test("answers busy while the reap is uncommitted, and renews when it rolled back", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, worker] = [await race.session(), await race.impatient()];
    await reaper.begin();
    await call(reaper, "reap");
    expect(await extend(worker, late)).toEqual(held);
    await reaper.rollback();
    expect(await extend(worker, late)).toEqual({ ...held, busy: false });
    expect(await call(reaper, "reap")).toBe(0);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });

  test("keeps the job when it came first, committed or not", async () => {
    const late = await expired(race, { key: "k" });
    const [worker, reaper] = [await race.session(), await race.impatient()];
    await worker.begin();
    expect(await extend(worker, late)).toEqual({ ...held, busy: false });
    expect(await call(reaper, "reap")).toBe(0);
    await worker.commit();
    expect(await call(reaper, "reap")).toBe(0);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });
});

describe("finish_many against a reap", () => {
  test("answers busy for the job that is being reaped, and finishes the others", async () => {
    const late = await expired(race, { key: "a" });
    const [reaper, worker] = [await race.session(), await race.impatient()];
    await reaper.begin();
    await call(reaper, "reap");
    const other = await expired(race, { key: "b" });
    const done = [{ id: other.id, status: "completed" }];
    expect(await finishMany(worker, [late, other])).toEqual({ done, refused: [], busy: [late.id] });
    await reaper.commit();
    const refused = [late.id];
    expect(await finishMany(worker, [late])).toEqual({ done: [], refused, busy: [] });
    expect(await race.stories()).toEqual([
      "a queued 1/5 g1 r1 LEASE_EXPIRED | reaped, refused complete",
      "b completed 1/5 g1 r1",
    ]);
  });

  test("finishes the job when the reap rolled back", async () => {
    const late = await expired(race, { key: "a" });
    const [reaper, worker] = [await race.session(), await race.impatient()];
    await reaper.begin();
    await call(reaper, "reap");
    expect(await finishMany(worker, [late])).toMatchObject({ busy: [late.id] });
    await reaper.rollback();
    const done = [{ id: late.id, status: "completed" }];
    expect(await finishMany(worker, [late])).toEqual({ done, refused: [], busy: [] });
    expect(await race.stories()).toEqual(["a completed 1/5 g1 r1"]);
  });
});

test("ten pollers at once reap an expired job exactly once", async () => {
  const sessions = await race.sessions(10);
  for (let round = 0; round < 30; round++) {
    const late = await expired(race, { key: `k${round}`, max_attempts: 1 });
    const answers = await Promise.all(sessions.map((on) => call(on, "status", late.id)));
    // Whoever asks while another reaps may see the job run on, but nothing in between.
    for (const { status, error_code, finished_at } of answers) {
      expect([status, error_code, finished_at !== null]).toEqual(
        status === "running" ? ["running", null, false] : ["failed", "LEASE_EXPIRED", true],
      );
    }
    expect(await race.story(late.id)).toBe(`k${round} failed 1/1 g1 r1 LEASE_EXPIRED | reaped`);
  }
});

test("two reaps at once share the work: each job is reaped by one of them", async () => {
  for (let index = 0; index < 20; index++) await expired(race, { key: `k${index}` });
  const [first, second] = [await race.session(), await race.impatient()];
  await first.begin();
  expect(await call(first, "reap", 12)).toBe(12);
  expect(await call(second, "reap", 100)).toBe(8);
  await first.commit();
  expect(await call(second, "reap", 100)).toBe(0);
  const stories = await race.stories();
  expect(stories.filter((story) => story.endsWith("| reaped"))).toHaveLength(20);
});

test("a stale generation's outcomes are refused after a reap and a new claim", async () => {
  const late = await expired(race, { key: "k" });
  const [now] = await claim(race);
  if (now === undefined) throw new Error("Nothing to claim");
  expect(await complete(race, late, "stale")).toBe(false);
  expect(await fail(race, late)).toBeNull();
  expect(await release(race, late)).toBe(false);
  expect(await extend(race, late)).toEqual(lost);
  await age(race.db, now.id, 600_000);
  expect(await complete(race, now, "fresh")).toBe(true);
  expect(await race.stories()).toEqual([
    "k completed 2/5 g2 r1 LEASE_EXPIRED result=fresh " +
      "| reaped, refused complete, refused fail, refused release, refused extend",
  ]);
});
