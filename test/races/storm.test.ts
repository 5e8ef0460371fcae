import { beforeAll, beforeEach, expect, test } from "vitest";
import type { Session } from "../support/databases.ts";
import { call, claim, complete, enqueueMany, expired, fail, finishMany } from "./support/calls.ts";
import { openRace } from "./support/race.ts";
import { seeded, shuffled } from "./support/random.ts";

const race = openRace();

// What prune deletes is kept here as it was, so that the sums can be checked to the last job.
beforeAll(() =>
  race.query(`
    create table gone (like leasehold.jobs);
    create function gone() returns trigger language plpgsql as
      $$ begin insert into public.gone select old.*; return null; end $$;
    create trigger gone after delete on leasehold.jobs for each row execute function gone();
    create table done (job uuid, generation int);`),
);
beforeEach(() => race.query("truncate gone, done"));

/** What everybody counted. */
class Tally {
  created = 0;
  retried = 0;
  pruned = 0;
  completed = 0;
  claims: string[] = [];
}

const turns = async (count: number, act: (turn: number) => Promise<unknown>) => {
  for (let turn = 0; turn < count; turn++) await act(turn);
};

/** Takes ten jobs, completes most of them, fails some for good, and leaves some to be reaped. */
async function work(on: Session, tally: Tally, turn: number): Promise<void> {
  const claimed = await claim(on, 10, { leaseMs: turn % 3 === 0 ? 1 : 60_000 });
  tally.claims.push(...claimed.map(({ id, generation }) => `${id} ${generation}`));
  const [first, second, ...rest] = claimed;
  if (first && (await complete(on, first))) tally.completed++;
  if (second) await fail(on, second, true);
  if (turn % 3 === 0) return;
  const { done } = await finishMany(on, rest.slice(0, 5));
  tally.completed += done.length;
  const error = { code: "BROKEN", message: "" };
  await finishMany(on, rest.slice(5), { action: "fail", permanent: true, error });
}

test("S38: maintenance and work on the same 500 jobs never deadlock, and the counts add up", async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = seeded(seed);
  const tally = new Tally();
  const numbers = Array.from({ length: 500 }, (_, index) => index);
  const created = await enqueueMany(
    race,
    numbers.map((index) => ({
      key: index % 2 === 0 ? `k${index}` : null,
      max_attempts: 2,
      priority: index % 3,
    })),
  );
  const ids: string[] = created.map(({ id }: { id: string }) => id);
  const [starter, ...sessions] = await race.sessions(13);
  if (starter === undefined) return;
  await turns(30, (turn) => work(starter, tally, turn));

  /** 100 of the jobs, given in this or that order. */
  const some = (descending: boolean) => {
    const chosen = shuffled(random, ids).slice(0, 100).sort();
    return descending ? chosen.reverse() : chosen;
  };
  const roles: ((on: Session, turn: number) => Promise<unknown>)[] = [
    ...[false, true].map((descending) => async (on: Session) => {
      const { retried } = await call(on, "retry_many", { ids: some(descending) });
      tally.retried += retried;
    }),
    ...[5, 10].map((limit) => async (on: Session) => {
      const options = { older_than_ms: 0, statuses: ["completed", "cancelled"], limit };
      const { deleted } = await call(on, "prune", options);
      tally.pruned += deleted;
    }),
    ...[5, 50].map((limit) => async (on: Session) => call(on, "reap", limit)),
    ...Array.from({ length: 4 }, () => (on: Session, turn: number) => work(on, tally, turn)),
    async (on) => call(on, "cancel_many", { ids: some(true).slice(0, 10) }),
    // New jobs under the keys of the old ones, which retry_many then can't have.
    async (on) => {
      const keys = shuffled(random, numbers).slice(0, 5);
      const jobs = keys.map((index) => ({ key: `k${index}`, on_conflict: "replace" }));
      const answers: { outcome: string }[] = await enqueueMany(on, jobs);
      tally.created += answers.filter(({ outcome }) => outcome === "created").length;
    },
  ];
  await Promise.all(
    roles.map((act, index) => {
      const on = sessions[index];
      if (on === undefined) throw new Error("There is no session for this role");
      return turns(40, (turn) => act(on, turn));
    }),
  );

  expect(new Set(tally.claims).size).toBe(tally.claims.length);
  const [sums] = await race.query(`
    select count(*) as jobs, sum(generation) as claims, sum(run - 1) as retried,
      count(*) filter (where status = 'completed') as completed,
      count(*) filter (where attempts > max_attempts) as beyond
    from (select * from leasehold.jobs union all select * from gone) j`);
  expect(sums, `seed ${seed}`).toEqual({
    jobs: 500 + tally.created,
    claims: tally.claims.length,
    retried: tally.retried,
    completed: tally.completed,
    beyond: 0,
  });
  expect(await race.query("select status, count(*) from gone group by 1 order by 1")).toEqual([
    { status: "cancelled", count: expect.any(Number) },
    { status: "completed", count: expect.any(Number) },
  ]);
  expect(await race.value("select count(*) from gone")).toBe(tally.pruned);
  expect(tally.retried).toBeGreaterThan(0);
  expect(tally.created).toBeGreaterThan(0);
});

test("S03: of ten recoveries of one expired job exactly one runs it, 50 times over", async () => {
  const sessions = await race.sessions(10);
  for (let round = 0; round < 50; round++) {
    await expired(race, { key: `k${round}` });
    const processed = await Promise.all(
      sessions.map(async (on) => {
        const claimed = await claim(on, 5);
        for (const job of claimed) {
          await on.query("insert into done values ($1, $2)", [job.id, job.generation]);
          expect(await complete(on, job)).toBe(true);
        }
        return claimed.length;
      }),
    );
    expect(processed.sort()).toEqual([...Array(9).fill(0), 1]);
  }
  expect(await race.query("select generation, count(*) from done group by 1")).toEqual([
    { generation: 2, count: 50 },
  ]);
  expect(await race.value("select count(distinct job) from done")).toBe(50);
  const stories = await race.stories();
  expect(stories.every((story) => story.endsWith("g2 r1 LEASE_EXPIRED result=done | reaped"))).toBe(
    true,
  );
});

test("S45: five overlapping drains share thirty jobs: each runs once, and the counts add up", async () => {
  await enqueueMany(race, Array(30).fill({}));
  const sessions = await race.sessions(5);
  let processed = 0;
  await Promise.all(
    sessions.map(async (on) => {
      for (;;) {
        const claimed = await claim(on, 3);
        if (claimed.length === 0) return;
        for (const job of claimed) {
          await on.query("insert into done values ($1, $2)", [job.id, job.generation]);
        }
        // A claim that met the row in its old state holds it for a moment, and then passes it by.
        for (let rest = claimed; rest.length > 0; ) {
          const { done, busy } = await finishMany(on, rest);
          processed += done.length;
          rest = rest.filter(({ id }) => busy.includes(id));
        }
      }
    }),
  );
  expect(processed).toBe(30);
  expect(await race.value("select count(*) from done")).toBe(30);
  expect(await race.stories()).toEqual(Array(30).fill("- completed 1/5 g1 r1"));
});
