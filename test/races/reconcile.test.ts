import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import type { Session } from "../support/databases.ts";
import { type Claim, call, claim, complete, fail, finishMany, lockRow } from "./support/calls.ts";
import { openLedger } from "./support/ledger.ts";
import { openRace } from "./support/race.ts";

const race = openRace();
openLedger(race);

/** A job whose ledger is being looked at, and that look's claim. */
interface Looked {
  subject: string;
  look: Claim;
}

/** Kinds that come before and behind the kind of a look. */
const kinds = ["assess", "pay"] as const;
const broken = { code: "BROKEN", message: "" };
const lookKinds = { kinds: ["leasehold.reconcile"] };

/** The attempt of the job is long over: none is believed. */
async function looked(kind: string, attempts = 1): Promise<Looked> {
  const options = { external: true, key: "k", max_attempts: 1 };
  const { id } = await call(race, "enqueue", kind, "{}", options);
  await race.query("select from leasehold.claim_job($1)", [id]);
  await call(race, "fail", id, 1, broken, true);
  await ageAll(race.db, "jobs", 3_600_001);
  const claims = await claim(race, 10, lookKinds);
  const row = await race.value("select id from leasehold.jobs where key = $1", [`${id}:1`]);
  const look = claims.find((one) => one.id === row);
  if (look === undefined) throw new Error("The look was not claimed");
  await race.query("update leasehold.jobs set attempts = $2 where id = $1", [row, attempts]);
  return { subject: id, look: { id: row, generation: look.generation } };
}

/** The look's lease ran out, on its last attempt. */
async function abandoned(kind: string): Promise<Looked> {
  const both = await looked(kind, 10);
  await ageAll(race.db, "jobs", 600_000);
  return both;
}

async function unknown(kind: string): Promise<Looked> {
  const both = await looked(kind, 10);
  await fail(race, both.look, true);
  return both;
}

const settle = (on: Session, { look }: Looked) => complete(on, look, { ledger: "refunded" });
const money = async ({ subject, look }: Looked) => {
  const rows = await race.query(
    "select status, money from leasehold.jobs where id in ($1, $2) order by kind = 'leasehold.reconcile'",
    [subject, look.id],
  );
  return rows.map((row) => [row.status, row.money].filter(Boolean).join(" "));
};

test("an answer of the ledger against a reap of the look: one of them counts", async () => {
  const both = await abandoned("pay");
  const [one, two] = [await race.session(), await race.impatient()];
  await one.begin();
  expect(await settle(one, both)).toBe(true);
  expect(await call(two, "status", both.look.id)).toMatchObject({ status: "running" });
  expect(await call(two, "reap")).toBe(0);
  await one.commit();
  expect(await money(both)).toEqual(["failed refunded", "completed"]);
});

test.each([
  ["commit", false, ["failed unknown", "failed"]],
  ["rollback", true, ["failed refunded", "completed"]],
] as const)("a reap of the look against its late answer, %s", async (end, answer, states) => {
  const both = await abandoned("pay");
  const [one, two] = await race.pair();
  await one.begin();
  await call(one, "status", both.look.id);
  const waiting = await race.blocked(two, (on) => settle(on, both));
  await one[end]();
  expect(await waiting.answer).toBe(answer);
  expect(await money(both)).toEqual(states);
});

test("a cancel of the look against its answer", async () => {
  const both = await looked("assess");
  const [one, two] = await race.pair();
  await one.begin();
  expect(await settle(one, both)).toBe(true);
  const waiting = await race.blocked(two, (on) => call(on, "cancel", both.look.id));
  await one.commit();
  expect(await waiting.answer).toEqual({ outcome: "finished", status: "completed" });
  expect(await money(both)).toEqual(["failed refunded", "completed"]);
});

test("a cancel of an abandoned look takes the subject first, as its late answer does", async () => {
  const both = await abandoned("pay");
  const [worker, user] = await race.pair();
  // The answer has got as far as the subject when the cancel comes.
  await worker.begin();
  await lockRow(worker, both.subject);
  const cancel = await race.blocked(user, (on) => call(on, "cancel", both.look.id));
  expect(await settle(worker, both)).toBe(true);
  await worker.commit();
  expect(await cancel.answer).toEqual({ outcome: "finished", status: "completed" });
  expect(await money(both)).toEqual(["failed refunded", "completed"]);
});

test("the subject's poller sees the money before or after, and waits for nobody", async () => {
  const both = await looked("pay");
  const [one, poller] = [await race.session(), await race.impatient()];
  await one.begin();
  await settle(one, both);
  expect(await call(poller, "status", both.subject)).toMatchObject({ notice: "failed_checking" });
  await one.commit();
  expect(await call(poller, "status", both.subject)).toMatchObject({ notice: "failed_refunded" });
});

describe.each(kinds)("while somebody holds the job of kind %s", (kind) => {
  test("its look is busy for finish_many, and skipped by a reap, which others are not", async () => {
    const both = await abandoned(kind);
    const [holder, other] = [await race.session(), await race.impatient()];
    await holder.begin();
    await lockRow(holder, both.subject);
    const busy = { done: [], refused: [], busy: [both.look.id] };
    const result = { ledger: "refunded" };
    expect(await finishMany(other, [both.look], { action: "complete", result })).toEqual(busy);
    const failing = { action: "fail", permanent: true, error: broken };
    expect(await finishMany(other, [both.look], failing)).toEqual(busy);
    expect(await call(other, "reap")).toBe(0);
    expect(await call(other, "status", both.look.id)).toMatchObject({ status: "running" });
    expect(await claim(other, 10, lookKinds)).toEqual([]);
    expect(await money(both)).toEqual(["failed checking", "running"]);
    await holder.rollback();
    expect(await call(other, "reap")).toBe(1);
    expect(await money(both)).toEqual(["failed unknown", "failed"]);
  });

  test("a worker that recovers leaves a look whose cancel would settle it", async () => {
    const both = await looked(kind);
    await race.query("update leasehold.jobs set worker = 'w' where id = $1", [both.look.id]);
    await call(race, "cancel", both.look.id);
    const [holder, other] = [await race.session(), await race.impatient()];
    await holder.begin();
    await lockRow(holder, both.subject);
    const recover = () => call(other, "worker_recover", "w", lookKinds.kinds, []);
    expect(await recover()).toBe(0);
    await holder.rollback();
    expect(await recover()).toBe(1);
    expect(await money(both)).toEqual(["failed unknown", "cancelled"]);
  });
});

type Act = (on: Session, both: Looked) => Promise<unknown>;
const calls: Record<string, Act> = {
  "an answer": settle,
  "a failed look": (on, { look }) => fail(on, look, true),
  "finish_many of the look": (on, { look }) =>
    finishMany(on, [look], { action: "complete", result: { ledger: "charged" } }),
  "a poll of the look": (on, { look }) => call(on, "status", look.id),
  "a poll of the job": (on, { subject }) => call(on, "status", subject),
  "a cancel of the look": (on, { look }) => call(on, "cancel", look.id),
  "a cancel of the job": (on, { subject }) => call(on, "cancel", subject),
  "a retry of the look": (on, { look }) => call(on, "retry", look.id),
  "a retry of the job": (on, { subject }) => call(on, "retry", subject),
  "cancel_many over both": (on, both) =>
    call(on, "cancel_many", { ids: [both.look.id, both.subject] }),
  "cancel_many over the look": (on, { look }) => call(on, "cancel_many", { ids: [look.id] }),
  "retry_many over both": (on, both) =>
    call(on, "retry_many", { ids: [both.look.id, both.subject] }),
  "retry_many over the look": (on, { look }) => call(on, "retry_many", { ids: [look.id] }),
  reap: (on) => call(on, "reap"),
  claim: (on) => claim(on, 10, lookKinds),
  remove: (on, { subject }) => call(on, "remove", subject),
  prune: (on) => call(on, "prune", { older_than_ms: 0 }),
};
const states = { looked: (kind: string) => looked(kind), abandoned, unknown };

/** Somebody holds the job, or its look, until both calls have come as far as they get. */
async function collide(
  sessions: Session[],
  [first, second]: [Act, Act],
  both: Looked,
  held: string,
) {
  const [holder, one, two] = sessions;
  if (!holder || !one || !two) throw new Error("It takes three sessions");
  await holder.begin();
  await lockRow(holder, held);
  await one.begin();
  const up = await race.started(one, (on) => first(on, both));
  const down = await race.started(two, (on) => second(on, both));
  await holder.rollback();
  await up.answer;
  await one.commit();
  await down.answer;
}

/** A job that is being looked at, and that no look at the ledger of its present run will settle. */
const forgotten = `select count(*) from leasehold.jobs j where j.money = 'checking' and not exists (
  select from leasehold.jobs l where l.kind = 'leasehold.reconcile' and l.key = j.id || ':' || j.run
    and l.status in ('queued', 'running'))`;

describe.each(Object.keys(states) as (keyof typeof states)[])("over a look that is %s", (state) => {
  test.each(Object.keys(calls))("%s never deadlocks with any other call", async (name) => {
    const sessions = await race.sessions(3);
    for (const [index, other] of Object.keys(calls).entries()) {
      const [first, second] = [calls[name], calls[other]];
      if (!first || !second) throw new Error("There is no such call");
      const both = await states[state](kinds[index % 2] ?? "pay");
      // Each pair comes in both orders, and so with either of them held.
      const held = name < other ? both.subject : both.look.id;
      try {
        await collide(sessions, [first, second], both, held);
      } catch (cause) {
        throw new Error(`${name} against ${other}`, { cause });
      }
      expect(await race.value(forgotten)).toBe(0);
      await race.query("delete from leasehold.jobs");
    }
  });
});
