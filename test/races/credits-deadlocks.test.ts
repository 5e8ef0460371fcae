import { describe, expect, test } from "vitest";
import { ageAll } from "../support/ageing.ts";
import type { Session } from "../support/databases.ts";
import {
  type Claim,
  call,
  claim,
  enqueueMany,
  fail,
  finishMany,
  lockRow,
} from "./support/calls.ts";
import { grant, openLedger, refund } from "./support/ledger.ts";
import { openRace } from "./support/race.ts";

const race = openRace();
openLedger(race);

/** Three jobs under the keys a, b and c, whose accounts come in the reverse order. */
interface Three {
  kind: string;
  jobs: (Claim & { key: string; account: string })[];
}

const places = [
  { key: "a", account: "z" },
  { key: "b", account: "y" },
  { key: "c", account: "x" },
];
const broken = { code: "BROKEN", message: "" };

async function queued(kind: string, options = {}): Promise<Three> {
  const jobs = places.map((place) => ({ kind, ...place, cost: 1, ...options }));
  const answers = await enqueueMany(race, jobs);
  return {
    kind,
    jobs: places.map((place, index) => ({ ...place, id: answers[index].id, generation: 0 })),
  };
}

async function running(kind: string, options = {}): Promise<Three> {
  const { jobs } = await queued(kind, options);
  expect(await claim(race, 10, { kinds: [kind] })).toHaveLength(3);
  return { kind, jobs: jobs.map((job) => ({ ...job, generation: 1 })) };
}

/** The states from which a pair of calls starts. */
const states: Record<string, (kind: string) => Promise<Three>> = {
  queued: (kind) => queued(kind),
  running: (kind) => running(kind),
  orphans: async (kind) => {
    const set = await running(kind, { max_attempts: 1 });
    await ageAll(race.db, "jobs", 600_000);
    return set;
  },
  failed: async (kind) => {
    const set = await running(kind);
    await finishMany(race, set.jobs, { action: "fail", permanent: true, error: broken });
    return set;
  },
};

type Act = (on: Session, set: Three) => Promise<unknown>;

/** A call over the middle one of the three alone. */
const single =
  (act: (on: Session, job: Claim & { account: string }) => Promise<unknown>): Act =>
  (on, { jobs }) =>
    act(on, jobs[1] as Three["jobs"][number]);
const ids = ({ jobs }: Three) => ({ ids: jobs.map(({ id }) => id) });

const calls: Record<string, Act> = {
  enqueue_many: (on, { kind, jobs }) =>
    enqueueMany(
      on,
      jobs.map(({ key, account }) => ({ kind, key, account, cost: 1 })),
    ),
  "enqueue_many with accounts in the order of the keys": (on, { kind, jobs }) =>
    enqueueMany(
      on,
      jobs.map(({ key }, index) => ({ kind, key, account: jobs[2 - index]?.account, cost: 1 })),
    ),
  retry_many: (on, set) => call(on, "retry_many", ids(set)),
  cancel_many: (on, set) => call(on, "cancel_many", ids(set)),
  "finish_many that fails": (on, { jobs }) =>
    finishMany(on, jobs, { action: "fail", permanent: true, error: broken }),
  "finish_many that completes": (on, { jobs }) => finishMany(on, jobs),
  reap: (on) => call(on, "reap"),
  claim: (on, { kind }) => claim(on, 10, { kinds: [kind] }),
  enqueue: (on, { kind, jobs }) => {
    const account = jobs[0]?.account;
    return call(on, "enqueue", kind, "{}", { key: "b", account, cost: 1 });
  },
  fail: single((on, job) => fail(on, job, true)),
  cancel: single((on, { id }) => call(on, "cancel", id)),
  retry: single((on, { id }) => call(on, "retry", id)),
  refund: single((on, { id }) => refund(on, id, 1, "r")),
  grant: single((on, { account }) => grant(on, 1, account, "more")),
};

const reversed = (set: Three): Three => ({ ...set, jobs: [...set.jobs].reverse() });

/** How somebody is in the way of both calls at first. */
const gates: Record<string, (on: Session, set: Three) => Promise<unknown>> = {
  "the middle job": (on, { jobs }) => lockRow(on, jobs[1]?.id ?? ""),
  "the middle account": (on) =>
    on.query("select from leasehold.accounts where account = 'y' for no key update"),
};

/** A pair meets at one gate in one order, and at the other in the other: half of the time for all. */
function gateOf(first: string, second: string): string {
  const names = Object.keys(calls);
  const [i, j] = [names.indexOf(first), names.indexOf(second)];
  return Object.keys(gates)[(i + j + (i < j ? 1 : 0)) % 2] as string;
}

/**
 * The first call, given the jobs from a to c, comes as far as it gets and keeps what it has locked;
 * the second is given them from c to a. Then the gate opens, and whoever waits goes on.
 */
async function collide(sessions: Session[], gate: string, [first, second]: [Act, Act], set: Three) {
  const [holder, one, two] = sessions;
  if (!holder || !one || !two) throw new Error("It takes three sessions");
  await holder.begin();
  await gates[gate]?.(holder, set);
  await one.begin();
  const up = await race.started(one, (on) => first(on, set));
  const down = await race.started(two, (on) => second(on, reversed(set)));
  await holder.rollback();
  await up.answer;
  await one.commit();
  await down.answer;
}

describe.each(Object.keys(states))("over three jobs with a cost that are %s", (state) => {
  test.each(Object.keys(calls))("%s never deadlocks with any other call", async (name) => {
    const sessions = await race.sessions(3);
    for (const [index, account] of ["x", "y", "z"].entries()) {
      await grant(race, 60 + index, account);
    }
    for (const other of Object.keys(calls)) {
      const [first, second, prepare] = [calls[name], calls[other], states[state]];
      if (!first || !second || !prepare) throw new Error("There is no such call");
      const gate = gateOf(name, other);
      try {
        const kind = `against ${other}, ${gate}`;
        await collide(sessions, gate, [first, second], await prepare(kind));
        await call(race, "cancel_many", { kind, status: "queued" });
      } catch (cause) {
        throw new Error(`${name} against ${other}, held by ${gate}`, { cause });
      }
    }
  });
});
