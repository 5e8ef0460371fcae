import { expect, test } from "vitest";
import type { Session } from "../support/databases.ts";
import { call, claim, complete, enqueue, enqueueMany, fail, finishMany } from "./support/calls.ts";
import { grant, openLedger, refund } from "./support/ledger.ts";
import { openRace } from "./support/race.ts";
import { pick, seeded, shuffled } from "./support/random.ts";

const race = openRace();
openLedger(race);

const accounts = ["a", "b", "c", "d", "e", "f"];
const keys = ["k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8"];
const broken = { code: "BROKEN", message: "" };

/** What everybody was told. */
class Tally {
  granted = 0;
  refunded = 0;
  created = 0;
  spent = 0;
  retried = 0;
}

/** One call of everything that moves money, over the same few keys and accounts. */
function acts(random: () => number, tally: Tally) {
  const job = () => ({
    key: random() < 0.7 ? pick(random, keys) : null,
    cost: Math.floor(random() * 4),
    account: pick(random, accounts),
    max_attempts: 1 + Math.floor(random() * 2),
    ...(random() < 0.2 && { start_within_ms: 1 }),
  });
  const enter = (asked: { cost: number }, { outcome }: { outcome: string }) => {
    if (outcome !== "created") return;
    tally.created++;
    tally.spent += asked.cost;
  };
  const some = async (on: Session, where: string): Promise<string[]> => {
    const rows = await on.query(`select id from leasehold.jobs where ${where} limit 40`);
    return shuffled(
      random,
      rows.map(({ id }) => id),
    ).slice(0, 6);
  };
  const work = async (on: Session) => {
    const [first, second, ...rest] = await claim(on, 6, { leaseMs: random() < 0.3 ? 1 : 60_000 });
    if (first) await complete(on, first);
    if (second) await fail(on, second, true);
    if (random() < 0.3) return;
    await finishMany(on, rest.slice(0, 2));
    await finishMany(on, rest.slice(2), { action: "fail", permanent: true, error: broken });
  };
  return {
    async single(on: Session) {
      const asked = job();
      enter(asked, await enqueue(on, asked));
    },
    async bulk(on: Session) {
      const asked = Array.from({ length: 8 }, job);
      const answers = await enqueueMany(on, asked);
      expect(answers).toHaveLength(8);
      for (const [index, one] of asked.entries()) enter(one, answers[index]);
    },
    work,
    async cancel(on: Session) {
      const [id] = await some(on, "status in ('queued', 'running')");
      if (id) await call(on, "cancel", id);
      await call(on, "cancel_many", { ids: await some(on, "status = 'queued'") });
    },
    async retry(on: Session) {
      const [id, ...ids] = await some(on, "status in ('failed', 'cancelled')");
      if (id === undefined) return;
      if ((await call(on, "retry", id)).outcome === "retried") tally.retried++;
      tally.retried += (await call(on, "retry_many", { ids })).retried;
    },
    async poll(on: Session) {
      for (const id of await some(on, "status = 'running'")) await call(on, "status", id);
      await call(on, "reap", 5);
    },
    async give(on: Session) {
      const reference = `r${Math.floor(random() * 40)}`;
      const { outcome } = await grant(on, 5, pick(random, accounts), reference);
      if (outcome === "granted") tally.granted += 5;
      const [id] = await some(on, "status = 'completed' and money = 'captured'");
      if (id === undefined) return;
      const answer = await refund(on, id, 1, pick(random, ["a", "b"]));
      if (answer.outcome === "refunded") tally.refunded++;
    },
  };
}

test("S38: everything that moves money at once, over the same accounts, never deadlocks and adds up", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = seeded(seed);
  const tally = new Tally();
  for (const account of accounts) await grant(race, 10, account, "first");
  const { single, bulk, work, cancel, retry, poll, give } = acts(random, tally);
  const roles = [single, single, bulk, bulk, bulk, work, work, cancel, retry, poll, give];
  const sessions = await race.sessions(roles.length);
  await Promise.all(
    roles.map(async (act, index) => {
      const on = sessions[index];
      if (on === undefined) throw new Error("There is no session for this role");
      for (let turn = 0; turn < 60; turn++) {
        try {
          await act(on);
        } catch (cause) {
          throw new Error(`seed ${seed}, role ${index}, turn ${turn}`, { cause });
        }
      }
    }),
  );
  const [sums] = await race.query(`select
    (select coalesce(sum(amount), 0) from leasehold.holds where state = 'held')::int
      + (select coalesce(sum(amount), 0) from leasehold.holds where state = 'captured')::int
      + (select sum(available) from leasehold.accounts)::int as all,
    (select coalesce(sum(amount), 0) from leasehold.holds where run = 1)::int as spent,
    (select count(*) from leasehold.jobs)::int as jobs,
    (select sum(run - 1) from leasehold.jobs)::int as retried,
    (select min(available) from leasehold.accounts)::int >= 0 as positive`);
  expect(sums, `seed ${seed}`).toEqual({
    all: 60 + tally.granted + tally.refunded,
    spent: tally.spent,
    jobs: tally.created,
    retried: tally.retried,
    positive: true,
  });
  const text = "select deadlocks from pg_stat_database where datname = current_database()";
  expect(await race.value(text)).toBe(0);
});

test("bulk calls over many accounts in opposite orders never deadlock, and pay what they can", async () => {
  const names = Array.from({ length: 60 }, (_, index) => `account ${index}`);
  for (const account of names) await grant(race, 10, account);
  const sessions = await race.sessions(6);
  const jobs = names.map((account) => ({ cost: 1, account }));
  let created = 0;
  await Promise.all(
    sessions.map(async (on, index) => {
      for (let turn = 0; turn < 4; turn++) {
        const answers = await enqueueMany(on, index % 2 === 0 ? jobs : [...jobs].reverse());
        created += answers.filter(
          ({ outcome }: { outcome: string }) => outcome === "created",
        ).length;
      }
    }),
  );
  // 24 of each account's, which can pay 10.
  expect(created).toBe(600);
  expect(await race.value("select sum(available) from leasehold.accounts")).toBe("0");
});
