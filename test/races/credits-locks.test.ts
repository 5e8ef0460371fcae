import { describe, expect, test } from "vitest";
import type { Session } from "../support/databases.ts";
import {
  type Claim,
  call,
  claim,
  claimJob,
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
  running,
} from "./support/calls.ts";
import { grant, openLedger, paid } from "./support/ledger.ts";
import { openRace } from "./support/race.ts";

const race = openRace();
const { book } = openLedger(race);

type Act = (on: Session, job: Claim) => Promise<unknown>;
const broken = { action: "fail", permanent: true, error: { code: "BROKEN", message: "" } };
const none = { done: [], refused: [], busy: [expect.any(String)] };

/** How a user's open transaction holds the account ann. */
const holders: Record<string, (on: Session) => Promise<unknown>> = {
  "a grant": (on) => grant(on, 1, "ann", "open"),
  "an enqueue": (on) => enqueue(on, { cost: 1, account: "ann", key: "open" }),
};

/** What answers at once, and leaves the job as it is, while somebody holds its account. */
const prompt: { name: string; act: Act; answer: unknown }[] = [
  { name: "claim", act: (on) => claim(on, 10), answer: [] },
  { name: "claim_job", act: (on, { id }) => claimJob(on, id), answer: [] },
  {
    name: "finish_many that fails it",
    act: (on, job) => finishMany(on, [job], broken),
    answer: none,
  },
  { name: "reap", act: (on) => call(on, "reap"), answer: 0 },
  {
    name: "status",
    act: (on, { id }) => call(on, "status", id),
    answer: expect.objectContaining({ status: "running", money: "held" }),
  },
  {
    name: "enqueue under its key",
    act: (on) => enqueue(on, { key: "k" }),
    answer: expect.objectContaining({ outcome: "conflict" }),
  },
  {
    name: "enqueue under its key, out of an account before it",
    act: (on) => enqueue(on, { key: "k", cost: 1, account: "aaron" }),
    answer: expect.objectContaining({ outcome: "conflict" }),
  },
  { name: "prune", act: (on) => call(on, "prune", { older_than_ms: 0 }), answer: { deleted: 0 } },
  {
    name: "credits",
    act: (on) => call(on, "credits", "ann"),
    answer: { account: "ann", available: 7, held: 3 },
  },
];

describe.each(Object.keys(holders))("while %s in an open transaction holds the account", (how) => {
  test.each(prompt)("$name waits for nothing", async ({ act, answer }) => {
    await grant(race, 10);
    await grant(race, 10, "aaron");
    const job = await expired(race, { ...paid, key: "k", max_attempts: 1 });
    const [user, other] = [await race.session(), await race.impatient()];
    await user.begin();
    await holders[how]?.(user);
    expect(await act(other, job)).toEqual(answer);
    expect(await race.story(job.id)).toBe("k running 1/1 g1 r1");
    await user.rollback();
    expect(await call(other, "reap")).toBe(1);
    expect(await call(race, "credits", "ann")).toMatchObject({ available: 10, held: 0 });
  });

  test("a job is claimed, extended, completed and comes back after a failure", async () => {
    await grant(race, 10);
    for (const key of ["a", "b", "c"]) await queued(race, { ...paid, key });
    const [user, other] = [await race.session(), await race.impatient()];
    await user.begin();
    await holders[how]?.(user);
    const [a, b, c] = await claim(other, 3);
    if (!a || !b || !c) throw new Error("There is nothing to claim");
    expect(await extend(other, a)).toMatchObject({ held: true, busy: false });
    expect(await complete(other, a)).toBe(true);
    expect(await finishMany(other, [b])).toMatchObject({ busy: [], refused: [] });
    expect(await fail(other, c)).toBe("queued");
    await user.rollback();
    expect(await book()).toEqual([
      "ann 1+3 grant hold hold hold capture capture",
      "a completed captured",
      "b completed captured",
      "c queued held",
    ]);
  });

  test("of a batch only the failing job of that account is busy", async () => {
    await grant(race, 10);
    await grant(race, 10, "bob");
    const jobs: Claim[] = [];
    for (const account of ["ann", "bob"]) jobs.push(await running(race, { cost: 3, account }));
    const [user, other] = [await race.session(), await race.impatient()];
    await user.begin();
    await holders[how]?.(user);
    const [ann, bob] = jobs;
    const done = [{ id: bob?.id, status: "failed" }];
    expect(await finishMany(other, jobs, broken)).toEqual({ done, refused: [], busy: [ann?.id] });
    await user.rollback();
    expect(await finishMany(other, jobs.slice(0, 1), broken)).toMatchObject({ busy: [] });
    expect(await book()).toEqual([
      "ann 10+0 grant hold give_back",
      "bob 10+0 grant hold give_back",
      "- failed given_back",
      "- failed given_back",
    ]);
  });

  const waiting: { name: string; prepare: () => Promise<Claim>; act: Act; answer: unknown }[] = [
    {
      name: "fail",
      prepare: () => running(race, { ...paid, key: "k" }),
      act: (on, job) => fail(on, job, true),
      answer: "failed",
    },
    {
      name: "cancel",
      prepare: async () => ({ id: await queued(race, { ...paid, key: "k" }), generation: 0 }),
      act: async (on, { id }) => (await call(on, "cancel", id)).outcome,
      answer: "cancelled",
    },
    {
      name: "release of a cancelled attempt",
      prepare: async () => {
        const job = await running(race, { ...paid, key: "k" });
        await call(race, "cancel", job.id);
        return job;
      },
      act: release,
      answer: true,
    },
  ];

  test.each(waiting)(
    "a single $name waits, and gives back once",
    async ({ prepare, ...single }) => {
      await grant(race, 10);
      const job = await prepare();
      const [user, other] = await race.pair();
      await user.begin();
      await holders[how]?.(user);
      const blocked = await race.blocked(other, (on) => single.act(on, job));
      await user.commit();
      expect(await blocked.answer).toBe(single.answer);
      const entries =
        "select string_agg(kind, ' ' order by id) from leasehold.entries where job_id = $1";
      expect(await race.value(entries, [job.id])).toBe("hold give_back");
      expect(await call(race, "credits", "ann")).toMatchObject(
        how === "a grant" ? { available: 11, held: 0 } : { available: 9, held: 1 },
      );
    },
  );

  test("a single retry waits, and takes its hold once", async () => {
    await grant(race, 10);
    const id = await failed(race, { ...paid, key: "k" });
    const [user, operator] = await race.pair();
    await user.begin();
    await holders[how]?.(user);
    const blocked = await race.blocked(operator, (on) => call(on, "retry", id));
    await user.rollback();
    expect(await blocked.answer).toMatchObject({ outcome: "retried" });
    expect(await book()).toEqual(["ann 7+3 grant hold give_back hold", "k queued held"]);
  });
});

test("a worker that recovers its claims waits for no account, and takes that job the next time", async () => {
  await grant(race, 10);
  const { id } = await enqueue(race, { ...paid, key: "k" });
  await race.query("select leasehold.claim(array['mail'], p_worker => 'w')");
  await call(race, "cancel", id);
  const [user, worker] = [await race.session(), await race.impatient()];
  await user.begin();
  await grant(user, 1, "ann", "open");
  const recover = () => call(worker, "worker_recover", "w", ["mail"], []);
  expect(await recover()).toBe(0);
  expect(await book()).toEqual(["ann 7+3 grant hold", "k running held"]);
  await user.rollback();
  expect(await recover()).toBe(1);
  expect(await book()).toEqual(["ann 10+0 grant hold give_back", "k cancelled given_back"]);
});

test("the row of a job that costs credits, held open, makes nobody wait either", async () => {
  await grant(race, 10);
  const job = await expired(race, { ...paid, key: "k", max_attempts: 1 });
  const [user, other] = [await race.session(), await race.impatient()];
  await user.begin();
  await lockRow(user, job.id);
  expect(await claim(other, 10)).toEqual([]);
  expect(await extend(other, job)).toMatchObject({ held: true, busy: true });
  expect(await finishMany(other, [job])).toEqual(none);
  expect(await finishMany(other, [job], broken)).toEqual(none);
  expect(await call(other, "reap")).toBe(0);
  expect(await call(other, "status", job.id)).toMatchObject({ status: "running", money: "held" });
  expect(await enqueue(other, { ...paid, key: "k" })).toMatchObject({ outcome: "conflict" });
  const [answer] = await enqueueMany(other, [{ ...paid, key: "k" }]);
  expect(answer).toMatchObject({ outcome: "conflict" });
  // Nobody who was refused the job holds its account: a stranger's submit goes through.
  expect(await enqueue(other, { ...paid, key: "other" })).toMatchObject({ outcome: "created" });
  await user.rollback();
  expect(await complete(other, job)).toBe(true);
  expect(await book()).toEqual([
    "ann 4+3 grant hold hold capture",
    "k completed captured",
    "other queued held",
  ]);
});
