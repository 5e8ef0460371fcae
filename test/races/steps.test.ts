import { describe, expect, test } from "vitest";
import type { Queryable } from "../support/databases.ts";
import {
  type Claim,
  call,
  claim,
  complete,
  enqueue,
  expired,
  guard,
  running,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

const save = (on: Pick<Queryable, "query" | "value">, job: Claim, value: unknown = "saved") =>
  call(on, "step_save", job.id, job.generation, "charge", JSON.stringify(value));

/** What is stored, as "charge=saved g1". */
const steps = async () =>
  (
    await race.query(
      `select s.name || '=' || (s.value #>> '{}') || ' g' || s.generation as step
       from leasehold.steps s order by s.saved_at, s.name`,
    )
  ).map(({ step }) => step);

describe("step_save against a reap", () => {
  test("is refused when the reap came first, and stores nothing", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, worker] = await race.pair();
    await reaper.begin();
    expect(await call(reaper, "reap")).toBe(1);
    const waiting = await race.blocked(worker, (on) => save(on, late));
    await reaper.commit();
    expect(await waiting.answer).toBe(false);
    expect(await steps()).toEqual([]);
    expect(await race.stories()).toEqual([
      "k queued 1/5 g1 r1 LEASE_EXPIRED | reaped, refused step_save",
    ]);
  });

  test("is stored when the reap rolled back, and keeps the job", async () => {
    const late = await expired(race, { key: "k" });
    const [reaper, worker] = await race.pair();
    await reaper.begin();
    await call(reaper, "reap");
    const waiting = await race.blocked(worker, (on) => save(on, late));
    await reaper.rollback();
    expect(await waiting.answer).toBe(true);
    expect(await call(reaper, "reap")).toBe(0);
    expect(await steps()).toEqual(["charge=saved g1"]);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });

  test("keeps the job when it came first, committed or not", async () => {
    const late = await expired(race, { key: "k" });
    const [worker, reaper] = [await race.session(), await race.impatient()];
    await worker.begin();
    expect(await save(worker, late)).toBe(true);
    expect(await call(reaper, "reap")).toBe(0);
    await worker.commit();
    expect(await call(reaper, "reap")).toBe(0);
    expect(await steps()).toEqual(["charge=saved g1"]);
    expect(await race.stories()).toEqual(["k running 1/5 g1 r1"]);
  });

  test("leaves nothing and no longer lease when it rolled back", async () => {
    const late = await expired(race, { key: "k" });
    const [worker, reaper] = [await race.session(), await race.impatient()];
    await worker.begin();
    await save(worker, late);
    await worker.rollback();
    expect(await call(reaper, "reap")).toBe(1);
    expect(await steps()).toEqual([]);
    expect(await race.stories()).toEqual(["k queued 1/5 g1 r1 LEASE_EXPIRED | reaped"]);
  });
});

describe("step_save against a claim", () => {
  test("is refused when the new claim came first, and the new one's value stands", async () => {
    const late = await expired(race, { key: "k" });
    const [rival, worker] = await race.pair();
    await rival.begin();
    const [now] = await claim(rival);
    expect(now).toMatchObject({ id: late.id, generation: 2 });
    const waiting = await race.blocked(worker, (on) => save(on, late, "stale"));
    expect(await save(rival, now as Claim, "fresh")).toBe(true);
    await rival.commit();
    expect(await waiting.answer).toBe(false);
    expect(await steps()).toEqual(["charge=fresh g2"]);
    expect(await race.stories()).toEqual([
      "k running 2/5 g2 r1 LEASE_EXPIRED | reaped, refused step_save",
    ]);
  });

  test("keeps claimers away when it came first, and its value is the next one's", async () => {
    const late = await expired(race, { key: "k" });
    const [worker, rival] = [await race.session(), await race.impatient()];
    await worker.begin();
    expect(await save(worker, late, "first")).toBe(true);
    expect(await claim(rival)).toEqual([]);
    await worker.commit();
    expect(await claim(rival)).toEqual([]);
    await race.query("update leasehold.jobs set lease_until = claimed_at");
    const [now] = await claim(rival);
    expect(await call(rival, "step_names", late.id)).toEqual(["charge"]);
    expect(await save(rival, now as Claim, "second")).toBe(true);
    expect(await save(worker, late, "stale")).toBe(false);
    expect(await steps()).toEqual(["charge=first g1"]);
    expect(await race.stories()).toEqual([
      "k running 2/5 g2 r1 LEASE_EXPIRED | reaped, refused step_save",
    ]);
  });
});

test("of two saves of one step at once, the first one's value stays", async () => {
  const job = await running(race, { key: "k" });
  const [first, second] = await race.pair();
  await first.begin();
  expect(await save(first, job, "first")).toBe(true);
  const waiting = await race.blocked(second, (on) => save(on, job, "second"));
  await first.commit();
  expect(await waiting.answer).toBe(true);
  expect(await steps()).toEqual(["charge=first g1"]);
});

test("a save that waited for a guard does not shorten the lease that was renewed meanwhile", async () => {
  const job = await running(race, { key: "k" });
  const [user, worker] = await race.pair();
  await user.begin();
  await guard(user, job);
  const waiting = await race.blocked(worker, (on) => save(on, job));
  await call(user, "extend", job.id, job.generation, 600_000);
  await user.commit();
  expect(await waiting.answer).toBe(true);
  const renewed = "select lease_until - claimed_at >= interval '600 s' from leasehold.jobs";
  expect(await race.value(renewed)).toBe(true);
});

test.each(["commit", "rollback"] as const)(
  "a save against a completion that ends in a rerun decides after its %s",
  async (end) => {
    const job = await running(race, { key: "k" });
    await save(race, job, "of this run");
    await enqueue(race, { key: "k", on_conflict: "rerun" }, { v: 2 });
    const [first, second] = await race.pair();
    await first.begin();
    expect(await complete(first, job)).toBe(true);
    const waiting = await race.blocked(second, (on) => save(on, job, "late"));
    await first[end]();
    expect(await waiting.answer).toBe(end === "rollback");
    expect(await steps()).toEqual(end === "rollback" ? ["charge=of this run g1"] : []);
  },
);
