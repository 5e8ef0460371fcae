import { describe, expect, test } from "vitest";
import type { Session } from "../support/databases.ts";
import {
  type Claim,
  call,
  claim,
  complete,
  enqueue,
  enqueueMany,
  expired,
  extend,
  fail,
  failed,
  finishMany,
  lockRow,
  queued,
  release,
} from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

/** What must answer at once while another session holds the row of the expired job `job`. */
const prompt: {
  name: string;
  act: (on: Session, job: Claim) => Promise<unknown>;
  answer: unknown;
}[] = [
  { name: "claim", act: (on) => claim(on, 10), answer: [] },
  {
    name: "claim of several kinds",
    act: (on) => claim(on, 10, { kinds: ["mail", "sms"] }),
    answer: [],
  },
  {
    name: "extend",
    act: (on, job) => extend(on, job),
    answer: expect.objectContaining({ held: true, busy: true }),
  },
  {
    name: "finish_many with complete",
    act: (on, job) => finishMany(on, [job]),
    answer: { done: [], refused: [], busy: [expect.any(String)] },
  },
  {
    name: "finish_many with fail",
    act: (on, job) =>
      finishMany(on, [job], { action: "fail", error: { code: "BROKEN", message: "" } }),
    answer: { done: [], refused: [], busy: [expect.any(String)] },
  },
  { name: "reap", act: (on) => call(on, "reap"), answer: 0 },
  {
    name: "status",
    act: (on, { id }) => call(on, "status", id),
    answer: expect.objectContaining({ status: "running", generation: 1 }),
  },
  {
    name: "prune",
    act: (on) => call(on, "prune", { older_than_ms: 0 }),
    answer: { deleted: 0 },
  },
  { name: "has_due_work", act: (on) => call(on, "has_due_work"), answer: true },
  {
    name: "enqueue under its key",
    act: (on) => enqueue(on, { key: "k" }),
    answer: expect.objectContaining({ outcome: "conflict" }),
  },
  {
    name: "enqueue_many under its key",
    act: (on) => enqueueMany(on, [{ key: "k" }]),
    answer: [expect.objectContaining({ outcome: "conflict" })],
  },
  {
    name: "enqueue under another key",
    act: (on) => enqueue(on, { key: "other" }),
    answer: expect.objectContaining({ outcome: "created" }),
  },
  { name: "pause", act: (on) => call(on, "pause", "mail"), answer: true },
  {
    name: "list",
    act: (on) => call(on, "list", {}),
    answer: { jobs: [expect.objectContaining({ status: "running" })], next: null },
  },
  { name: "stats", act: (on) => call(on, "stats"), answer: expect.anything() },
];

test.each(prompt)("$name does not wait for who holds an expired job", async ({ act, answer }) => {
  const job = await expired(race, { key: "k", max_attempts: 1 });
  const [holder, other] = [await race.session(), await race.impatient()];
  await holder.begin();
  await lockRow(holder, job.id);
  expect(await act(other, job)).toEqual(answer);
  await holder.rollback();
  expect(await race.story(job.id)).toBe("k running 1/1 g1 r1");
});

test("prune and retry_many of others do not wait for a finished job that is locked", async () => {
  const [a, b] = [await failed(race, { key: "a" }), await failed(race, { key: "b" })];
  const [holder, other] = [await race.session(), await race.impatient()];
  await holder.begin();
  await lockRow(holder, a);
  expect(await call(other, "retry_many", { ids: [b] })).toEqual({ retried: 1, skipped: [] });
  expect(await call(other, "prune", { older_than_ms: 0 })).toEqual({ deleted: 0 });
  await holder.rollback();
  expect(await call(other, "prune", { older_than_ms: 0 })).toEqual({ deleted: 1 });
  expect(await race.stories()).toEqual(["b queued 0/5 g1 r2 BROKEN | failed, retried"]);
});

test("enqueue under the key of a queued job past its start_by does not wait for its lock", async () => {
  const id = await queued(race, { key: "k", start_within_ms: 1 });
  const [holder, other] = [await race.session(), await race.impatient()];
  await holder.begin();
  await lockRow(holder, id);
  const status = { outcome: "conflict", holder: { id, status: "queued" } };
  expect(await enqueue(other, { key: "k" })).toMatchObject(status);
  expect(await call(other, "status", id)).toMatchObject({ status: "queued" });
  expect(await claim(other)).toEqual([]);
  await holder.rollback();
  expect(await enqueue(other, { key: "k" })).toMatchObject({ outcome: "created" });
  expect(await race.story(id)).toBe("k failed 0/5 g0 r1 NOT_STARTED | reaped");
});

const won = { complete: true, fail: "queued", release: true };
const single: {
  name: keyof typeof won;
  act: (on: Session, job: Claim) => Promise<unknown>;
  refused: unknown;
}[] = [
  { name: "complete", act: complete, refused: false },
  { name: "fail", act: fail, refused: null },
  { name: "release", act: release, refused: false },
];

describe.each(single)("a single $name", ({ name, act, refused }) => {
  test("waits for who holds the job, and counts when nothing changed", async () => {
    const job = await expired(race, { key: "k" });
    const [holder, worker] = await race.pair();
    await holder.begin();
    await lockRow(holder, job.id);
    const waiting = await race.blocked(worker, (on) => act(on, job));
    await holder.commit();
    expect(await waiting.answer).toBe(won[name]);
  });

  test("decides on the new state: refused after a reap and a new claim", async () => {
    const job = await expired(race, { key: "k" });
    const [holder, worker] = await race.pair();
    await holder.begin();
    expect(await claim(holder)).toMatchObject([{ generation: 2 }]);
    const waiting = await race.blocked(worker, (on) => act(on, job));
    await holder.commit();
    expect(await waiting.answer).toBe(refused);
    expect(await race.stories()).toEqual([
      `k running 2/5 g2 r1 LEASE_EXPIRED | reaped, refused ${name}`,
    ]);
  });
});

test("a single cancel waits, and decides on the new state", async () => {
  const job = await expired(race, { key: "k" });
  const [holder, user] = await race.pair();
  await holder.begin();
  await lockRow(holder, job.id);
  const waiting = await race.blocked(user, (on) => call(on, "cancel", job.id));
  expect(await fail(holder, job, true)).toBe("failed");
  await holder.commit();
  expect(await waiting.answer).toEqual({ outcome: "finished", status: "failed" });
});

test("a single retry waits, and decides on the new state", async () => {
  const id = await failed(race, { key: "k" });
  const [holder, operator] = await race.pair();
  await holder.begin();
  await lockRow(holder, id);
  const waiting = await race.blocked(operator, (on) => call(on, "retry", id));
  await holder.commit();
  expect(await waiting.answer).toMatchObject({ outcome: "retried" });
});
