import { describe, expect, test } from "vitest";
import { call, claim, complete, enqueue, enqueueMany, expired, running } from "./support/calls.ts";
import { grant, openLedger, paid, refund } from "./support/ledger.ts";
import { rivals } from "./support/money-rivals.ts";
import { openRace } from "./support/race.ts";

const race = openRace();
const { book } = openLedger(race);

const named = rivals.map((one) => [one.name, one] as const);

describe.each(named)("%s", (_name, { credits, prepare, first, second, ...ends }) => {
  test.each(["commit", "rollback"] as const)("after the first one's %s", async (end) => {
    await grant(race, credits);
    const job = await prepare(race);
    const [one, two] = await race.pair();
    await one.begin();
    await first(one, job);
    const waiting = await race.started(two, (on) => second(on, job));
    await one[end]();
    const [answer, books] = ends[end];
    expect(await waiting.answer).toEqual(answer);
    expect(await book()).toEqual(books);
  });
});

test("S40: twenty polls at the same moment reap once and give back once", async () => {
  await grant(race, 3);
  const sessions = await race.sessions(20);
  for (let round = 0; round < 10; round++) {
    const job = await expired(race, { ...paid, key: `k${round}`, max_attempts: 1 });
    const answers = await Promise.all(sessions.map((on) => call(on, "status", job.id)));
    for (const { status, money } of answers) {
      expect([status, money]).toEqual(
        status === "running" ? ["running", "held"] : ["failed", "given_back"],
      );
    }
    expect(await call(race, "status", job.id)).toMatchObject({ money: "given_back" });
  }
  const [ann] = await book();
  expect(ann).toBe(`ann 3+0 grant${" hold give_back".repeat(10)}`);
  expect(await race.value("select count(*) from leasehold.job_events")).toBe(10);
});

test("S06: an orphan's key is taken by one of ten enqueues, with what the orphan held", async () => {
  await grant(race, 3);
  const sessions = await race.sessions(10);
  for (let round = 0; round < 10; round++) {
    const orphan = await expired(race, { ...paid, key: "k", max_attempts: 1 });
    const answers = await Promise.all(sessions.map((on) => enqueue(on, { ...paid, key: "k" })));
    const outcomes = answers.map(({ outcome }) => outcome).sort();
    expect(outcomes).toEqual([...Array(9).fill("conflict"), "created"]);
    expect(await call(race, "status", orphan.id)).toMatchObject({ money: "given_back" });
    const [next] = await claim(race);
    if (next === undefined) throw new Error("Nothing to claim");
    await call(race, "fail", next.id, 1, { code: "X", message: "" }, true);
  }
});

test("two submits at the same instant, 50 times, by a user with one point: one job, one hold", async () => {
  await grant(race, 1);
  const sessions = await race.sessions(2);
  for (let round = 0; round < 50; round++) {
    const job = { cost: 1, account: "ann", key: "k" };
    const answers = await Promise.all(sessions.map((on) => enqueue(on, job)));
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(["conflict", "created"]);
    expect(await race.value("select count(*) from leasehold.holds where state = 'held'")).toBe(1);
    const id = answers.find(({ outcome }) => outcome === "created").id;
    expect(await call(race, "cancel", id)).toMatchObject({ outcome: "cancelled" });
  }
  expect(await race.value("select count(*) from leasehold.jobs")).toBe(50);
});

test("ten users with three points and twenty submits each never spend more than they have", async () => {
  const users = Array.from({ length: 10 }, (_, index) => `user ${index}`);
  for (const user of users) await grant(race, 3, user);
  const sessions = await race.sessions(10);
  const outcomes: string[] = [];
  // Each user's submits come on all connections at once.
  await Promise.all(
    sessions.map(async (on, offset) => {
      for (let turn = 0; turn < 20; turn++) {
        const account = users[(offset + turn) % 10];
        outcomes.push((await enqueue(on, { cost: 1, account })).outcome);
      }
    }),
  );
  expect(outcomes.filter((outcome) => outcome === "created")).toHaveLength(30);
  expect(outcomes.filter((outcome) => outcome === "insufficient")).toHaveLength(170);
  const lines = (await book()).filter((line) => line.startsWith("user"));
  expect(lines).toEqual(users.map((user) => `${user} 0+3 grant hold hold hold`));
});

test("ten refunds at once never pass what was captured", async () => {
  await grant(race, 3);
  const job = await running(race, { ...paid, key: "k" });
  await complete(race, job);
  const sessions = await race.sessions(10);
  const answers = await Promise.all(
    sessions.map((on, index) => refund(on, job.id, 1, `part ${index % 5}`)),
  );
  const refunds = answers.filter(({ outcome }) => outcome === "refunded");
  expect(refunds).toHaveLength(3);
  expect(await book()).toEqual([
    "ann 3+0 grant hold capture refund refund refund",
    "k completed refunded",
  ]);
});

test("an account that a bulk call did not find is not its own when it is made meanwhile", async () => {
  await grant(race, 5);
  const [gate, bulk, rival] = await race.sessions(3);
  if (!gate || !bulk || !rival) throw new Error("There are no sessions");
  await gate.begin();
  await grant(gate, 1, "ann", "gate");
  const jobs = [paid, { cost: 3, account: "bob" }];
  await bulk.query("set lock_timeout = '5s'");
  const waiting = await race.blocked(bulk, (on) => enqueueMany(on, jobs));
  await grant(race, 5, "bob");
  await rival.begin();
  expect(await enqueue(rival, { cost: 5, account: "bob" })).toMatchObject({ outcome: "created" });
  await gate.commit();
  const answers = await waiting.answer;
  await rival.commit();
  expect(answers.map(({ outcome }: { outcome: string }) => outcome)).toEqual([
    "created",
    "insufficient",
  ]);
  expect(await book()).toEqual([
    "ann 3+3 grant grant hold",
    "bob 0+5 grant hold",
    "- queued held",
    "- queued held",
  ]);
});

describe("in the user's transaction", () => {
  test("a rollback leaves neither job nor hold, and the rival who waited has the credits", async () => {
    await grant(race, 3);
    const [user, other] = await race.pair();
    await user.begin();
    await enqueueMany(user, [{ ...paid, key: "k", once: "o" }]);
    const waiting = await race.blocked(other, (on) => enqueue(on, { ...paid, key: "other" }));
    await user.rollback();
    expect(await waiting.answer).toMatchObject({ outcome: "created" });
    expect(await book()).toEqual(["ann 0+3 grant hold", "other queued held"]);
  });

  test("a savepoint that is rolled back takes its holds along", async () => {
    await grant(race, 6);
    const user = await race.session();
    await user.begin();
    await enqueue(user, { ...paid, key: "a" });
    await user.query("savepoint before_b");
    await enqueue(user, { ...paid, key: "b" });
    await user.query("rollback to before_b");
    await user.commit();
    expect(await book()).toEqual(["ann 3+3 grant hold", "a queued held"]);
  });
});

test("the server has met no deadlock", async () => {
  const text = "select deadlocks from pg_stat_database where datname = current_database()";
  expect(await race.value(text)).toBe(0);
});
