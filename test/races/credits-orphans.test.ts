import { expect, test } from "vitest";
import { call, enqueue, enqueueMany, expired, failed } from "./support/calls.ts";
import { grant, openLedger } from "./support/ledger.ts";
import { openRace } from "./support/race.ts";

const race = openRace();
const { book } = openLedger(race);

/** An orphan under the key k whose account is `account`, on its last attempt. */
const orphan = (account: string, key = "k") =>
  expired(race, { cost: 1, account, key, max_attempts: 1 });
const under = (account: string, key = "k") => ({ cost: 1, account, key });

/** An account before that of the orphan, and one behind it. */
const pairs = [
  ["ann", "bob"],
  ["bob", "ann"],
] as const;

test.each(pairs)(
  "an enqueue of %s's over an orphan of %s's crosses one the other way round",
  async (mine, theirs) => {
    for (const account of ["ann", "bob"]) await grant(race, 10, account);
    const [here, there] = [await orphan(theirs, "a"), await orphan(mine, "b")];
    const [gate, one, two] = await race.sessions(3);
    if (!gate || !one || !two) throw new Error("There are no sessions");
    // Each has got as far as it gets when the one that holds both accounts lets go.
    await gate.begin();
    await grant(gate, 1, "ann", "gate");
    await one.begin();
    await two.begin();
    const first = await race.started(one, (on) => enqueue(on, under(mine, "a")));
    const second = await race.started(two, (on) => enqueue(on, under(theirs, "b")));
    await gate.rollback();
    const answers = [];
    for (const [on, { answer }] of [
      [one, first],
      [two, second],
    ] as const) {
      answers.push((await answer).outcome);
      await on.commit();
    }
    for (const outcome of answers) expect(["created", "conflict"]).toContain(outcome);
    await call(race, "reap");
    for (const { id } of [here, there]) {
      expect(await call(race, "status", id)).toMatchObject({ money: "given_back" });
    }
  },
);

test.each(pairs)(
  "the same in 60 rounds from six connections, %s before %s",
  async (mine, theirs) => {
    for (const account of ["ann", "bob"]) await grant(race, 1_000, account);
    const sessions = await race.sessions(6);
    for (let round = 0; round < 60; round++) {
      const keys = [`a${round}`, `b${round}`] as const;
      await orphan(theirs, keys[0]);
      await orphan(mine, keys[1]);
      const [one, two, three, four, bulk, other] = sessions;
      if (!one || !two || !three || !four || !bulk || !other) throw new Error("No sessions");
      const answers = await Promise.all([
        enqueue(one, under(mine, keys[0])),
        enqueue(two, under(theirs, keys[1])),
        enqueue(three, under(theirs, keys[0])),
        enqueue(four, under(mine, keys[1])),
        enqueueMany(bulk, [under(theirs, keys[1]), under(mine, keys[0])]),
        call(other, "reap"),
      ]);
      const outcomes = answers.flat().map((answer) => answer.outcome);
      expect(outcomes.filter((outcome) => outcome === "created").length).toBeLessThanOrEqual(2);
      await call(race, "cancel_many", { kind: "mail" });
    }
    expect((await book()).slice(0, 2).map((line) => line.slice(0, 10))).toEqual([
      "ann 1000+0",
      "bob 1000+0",
    ]);
  },
);

test("an enqueue leaves an orphan whose account it may not hold before its own", async () => {
  await grant(race, 10, "ann");
  await grant(race, 10, "bob");
  const job = await orphan("bob");
  const [user, other] = [await race.session(), await race.impatient()];
  await user.begin();
  await grant(user, 1, "ann", "open");
  // It would hold bob's account while it waits for ann's, which comes first.
  expect(await enqueue(other, under("ann"))).toMatchObject({ outcome: "conflict" });
  expect(await race.story(job.id)).toBe("k running 1/1 g1 r1");
  await user.rollback();
  expect(await enqueue(other, under("ann"))).toMatchObject({ outcome: "created" });
  expect(await call(race, "status", job.id)).toMatchObject({ money: "given_back" });
});

test("a retry does the same", async () => {
  await grant(race, 10, "ann");
  await grant(race, 10, "bob");
  const id = await failed(race, under("ann"));
  await orphan("bob");
  const [user, other] = [await race.session(), await race.impatient()];
  await user.begin();
  await grant(user, 1, "ann", "open");
  expect(await call(other, "retry", id)).toMatchObject({ outcome: "conflict" });
  await user.rollback();
  expect(await call(other, "retry", id)).toMatchObject({ outcome: "retried" });
  expect(await book()).toEqual([
    "ann 9+1 grant hold give_back hold",
    "bob 10+0 grant hold give_back",
    "k queued held",
    "k failed given_back",
  ]);
});

test("an enqueue out of an account that is made only now waits for nobody out of order", async () => {
  await grant(race, 10, "bob");
  const job = await orphan("bob");
  const [gate, one, bulk] = await race.sessions(3);
  if (!gate || !one || !bulk) throw new Error("There are no sessions");
  await gate.begin();
  await gate.query("select from leasehold.holds where job_id = $1 for update", [job.id]);
  // ann has no account yet: if the enqueue went on to the orphan, it would stop at its hold.
  const first = await race.started(one, (on) => enqueue(on, under("ann")));
  await grant(race, 10, "ann");
  const jobs = [under("bob", "x"), under("ann", "y")];
  const second = await race.started(bulk, (on) => enqueueMany(on, jobs));
  await gate.rollback();
  expect(["insufficient", "conflict"]).toContain((await first.answer).outcome);
  for (const answer of await second.answer) expect(answer).toMatchObject({ outcome: "created" });
});
