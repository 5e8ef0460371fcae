import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import type { Session } from "../support/databases.ts";
import { type Claim, call, claim, enqueueMany, finishMany, lockRow } from "./support/calls.ts";
import { openRace } from "./support/race.ts";

const race = openRace();

/** Three jobs of one kind, under the keys a, b and c. */
interface Three {
  kind: string;
  jobs: (Claim & { key: string })[];
}

/** Three jobs in the state from which a pair of calls starts. */
const states: Record<string, (kind: string) => Promise<Three>> = {
  queued: (kind) => three(kind),
  running: (kind) => claimed(kind),
  "past their lease, on the last attempt": async (kind) => {
    return aged(await claimed(kind, { max_attempts: 1 }));
  },
  "past their lease, with attempts left": async (kind) => aged(await claimed(kind)),
  "past their start_by": async (kind) => aged(await three(kind, { start_within_ms: 1000 })),
  failed: async (kind) => {
    const set = await claimed(kind);
    const error = { code: "BROKEN", message: "" };
    await finishMany(race, set.jobs, { action: "fail", permanent: true, error });
    return set;
  },
};

async function three(kind: string, options = {}): Promise<Three> {
  const keys = ["a", "b", "c"];
  const answers = await enqueueMany(
    race,
    keys.map((key) => ({ kind, key, ...options })),
  );
  const jobs = keys.map((key, index) => ({ key, id: answers[index].id, generation: 0 }));
  return { kind, jobs };
}

async function claimed(kind: string, options = {}): Promise<Three> {
  const { jobs } = await three(kind, options);
  expect(await claim(race, 10, { kinds: [kind] })).toHaveLength(3);
  return { kind, jobs: jobs.map((job) => ({ ...job, generation: 1 })) };
}

async function aged(set: Three): Promise<Three> {
  await ageAll(race.db, "jobs", 600_000);
  return set;
}

interface Call {
  /** Whether it waits for the jobs that others hold. Two that never wait need no trial. */
  waits: boolean;
  act(on: Session, set: Three): Promise<unknown>;
  /** How many jobs its answer accounts for. */
  // biome-ignore lint/suspicious/noExplicitAny: each function has an answer of its own.
  counts(answer: any): unknown;
}

const enqueueing = (on_conflict: string): Call => ({
  waits: true,
  act: (on, { kind, jobs }) =>
    enqueueMany(
      on,
      jobs.map(({ key }) => ({ kind, key, on_conflict })),
    ),
  counts: (answers) => answers.length,
});

const filtering = (name: string, counts: Call["counts"]): Call => ({
  waits: true,
  act: (on, { jobs }) => call(on, name, { ids: jobs.map(({ id }) => id) }),
  counts,
});

const finishing = (outcome: Record<string, unknown>): Call => ({
  waits: false,
  act: (on, { jobs }) => finishMany(on, jobs, outcome),
  counts: ({ done, refused, busy }) => done.length + refused.length + busy.length,
});

/** All that locks several jobs in one call. Each accounts for 3 jobs, or for however many it finds. */
const calls: Record<string, Call> = {
  "enqueue_many that replaces": enqueueing("replace"),
  "enqueue_many that asks for reruns": enqueueing("rerun"),
  retry_many: filtering("retry_many", ({ retried, skipped }) => retried + skipped.length),
  cancel_many: filtering("cancel_many", ({ cancelled, requested, skipped }) => {
    return cancelled + requested + skipped.length;
  }),
  "finish_many that completes": finishing({ action: "complete" }),
  "finish_many that releases": finishing({ action: "release" }),
  prune: {
    waits: false,
    act: (on, { kind }) => call(on, "prune", { kinds: [kind], older_than_ms: 0 }),
    counts: () => 3,
  },
  claim: {
    waits: false,
    act: (on, { kind }) => claim(on, 10, { kinds: [kind] }),
    counts: () => 3,
  },
  reap: { waits: false, act: (on) => call(on, "reap"), counts: () => 3 },
};

const reversed = (set: Three): Three => ({ ...set, jobs: [...set.jobs].reverse() });

const count = (answer: unknown, outcome: string) =>
  Array.isArray(answer) ? answer.filter((one) => one.outcome === outcome).length : 0;

const deleted = (answer: unknown) => (answer as { deleted?: number } | null)?.deleted ?? 0;

/**
 * Somebody holds the middle one of three jobs. The first call, given them from a to c, comes as far
 * as it gets and keeps what it has locked; the second is given them from c to a. Then all let go.
 */
async function collide(sessions: Session[], first: Call, second: Call, set: Three) {
  const [gate, one, two] = sessions;
  const middle = set.jobs[1];
  if (!gate || !one || !two || !middle) throw new Error("It takes three sessions and three jobs");
  await gate.begin();
  await lockRow(gate, middle.id);
  await one.begin();
  const up = await race.started(one, (on) => first.act(on, set));
  const down = await race.started(two, (on) => second.act(on, reversed(set)));
  await gate.rollback();
  const upAnswer = await up.answer;
  await one.commit();
  const answers = [upAnswer, await down.answer];
  expect([first.counts(answers[0]), second.counts(answers[1])]).toEqual([3, 3]);
  const created = answers.reduce<number>((sum, answer) => sum + count(answer, "created"), 0);
  const pruned = answers.reduce<number>((sum, answer) => sum + deleted(answer), 0);
  const jobs = "select count(*) from leasehold.jobs where kind = $1";
  expect(await race.value(jobs, [set.kind])).toBe(3 + created - pruned);
}

describe.each(Object.keys(states))("over three jobs that are %s", (state) => {
  test.each(Object.keys(calls))("%s never deadlocks with any other call", async (name) => {
    const sessions = await race.sessions(3);
    for (const other of Object.keys(calls)) {
      const [first, second, prepare] = [calls[name], calls[other], states[state]];
      if (!first || !second || !prepare) throw new Error("There is no such call");
      if (!first.waits && !second.waits) continue;
      try {
        await collide(sessions, first, second, await prepare(`against ${other}`));
      } catch (cause) {
        throw new Error(`${name} against ${other}`, { cause });
      }
    }
  });
});
