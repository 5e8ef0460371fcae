import type { Session, TestDatabase } from "../../support/databases.ts";
import type { Act } from "./pairs-acts.ts";
import type { Arena } from "./pairs-arena.ts";
import { type Deviation, deviations } from "./pairs-deviations.ts";
import type { Footprint } from "./pairs-footprint.ts";
import { writers } from "./pairs-list.ts";
import { JOB, LOOK, OTHER, TOKEN, WORKER, type World } from "./pairs-worlds.ts";
import { faultsOf } from "./race.ts";

export const ends = ["commit", "rollback"] as const;
export type End = (typeof ends)[number];

/** The first call keeps its transaction open until the second waits for it or has answered. */
export interface Case {
  world: World;
  first: Act;
  /** What the first one takes. */
  taken: Footprint;
  second: Act;
  end: End;
}

/** What two calls, or one, have answered, and what all tables hold then. */
interface Outcome {
  answers: string[];
  final: string;
}

type Statement = Pick<Act, "sql">;

const known = [JOB, OTHER, LOOK, TOKEN, WORKER];
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Without what differs from run to run: new ids, times, and how long to wait for a value. */
const plain = (value: unknown) =>
  JSON.stringify(value ?? null)
    .replaceAll(uuid, (id) => (known.includes(id) ? id : "new"))
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)/g, "time");

/** Answers that are mistakes keep their code; those of lost races must not come at all. */
async function answerOf(rows: Promise<Record<string, unknown>[]>): Promise<string> {
  try {
    const answer = plain((await rows)[0]?.answer);
    return answer.replace(/"state":"wait"(.*)"retry_after_ms":\d+/, '"state":"wait"$1');
  } catch (error) {
    return `error ${(error as { code?: string }).code}: ${(error as Error).message}`;
  }
}

export const restoring = ({ name }: World) =>
  `begin; select pairs.restore('${name}'); commit; begin;`;

async function final(on: Session): Promise<string> {
  const tables: Record<string, unknown[]> = await on.value("select pairs.final()");
  return Object.entries(tables)
    .flatMap(([name, rows]) => rows.map((row) => `${name} ${plain(row)}`).sort())
    .join("\n");
}

/**
 * All calls come under the first claim. Under the second, which some of them make, nothing may end,
 * report or renew: this holds whatever the two orders come to.
 */
const writtenUnderAnother = `
  select 'a write under another claim' as fault, id from leasehold.jobs
  where generation > 1 and (status in ('completed', 'failed') or progress is not null
    or lease_until > clock_timestamp() + interval '7 minutes')`;

const judged = new Map<string, string[]>();

/** What is wrong with the rows and the books; each final state is looked at once. */
async function unsound({ db }: Arena, state: string): Promise<string[]> {
  const known = judged.get(state);
  if (known) return known;
  const books = await db.value("select pairs.books()");
  const stale = await db.query(writtenUnderAnother);
  const faults = [...(await faultsOf(db)), ...stale, ...(books === null ? [] : [books])];
  const told = faults.map((fault) => JSON.stringify(fault));
  judged.set(state, told);
  return told;
}

/** One after the other, each in a transaction of its own. */
async function inTurn({ first: on }: Arena, world: World, calls: Statement[]): Promise<Outcome> {
  const answers: string[] = [];
  let before = restoring(world);
  for (const { sql } of calls) {
    answers.push(await answerOf(on.query(`${before} ${sql}`)));
    before = "commit; begin;";
  }
  await on.query(calls.length === 0 ? `${before} commit` : "commit");
  return { answers, final: await final(on) };
}

/** The serial executions that races are compared with, each computed once. */
export function openBaselines() {
  const kept = new Map<string, Promise<Outcome>>();
  return (arena: Arena, world: World, ...calls: Statement[]): Promise<Outcome> => {
    const key = [world.name, ...calls.map(({ sql }) => sql)].join("\n");
    const outcome = kept.get(key) ?? inTurn(arena, world, calls);
    kept.set(key, outcome);
    return outcome;
  };
}

export type Baselines = ReturnType<typeof openBaselines>;

/** Comes back when `rival` waits for `holder`, with true, or when its call is over. */
export async function met(
  db: TestDatabase,
  rival: Session,
  holder: Session,
  call: Promise<unknown>,
) {
  let over = false;
  const end = () => {
    over = true;
  };
  call.then(end, end);
  const waits = `select wait_event_type = 'Lock' and $2::int = any (pg_blocking_pids($1))
    from pg_stat_activity where pid = $1`;
  while (!over) {
    if (await db.value(waits, [rival.pid, holder.pid])) return true;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return false;
}

/** Whether the list lets the second call wait for what the first one has taken. */
function mayWait({ taken, second }: Case): boolean {
  const takes = writers[second.function]?.takes ?? {};
  return taken.rows.some(({ table, lock }) => {
    const how = takes[table] ?? [];
    // Who adds waits for another who does, and for one who ends what is there.
    const adds = how.includes("adds") && (table === "jobs" || lock !== "for no key update");
    return adds || how.includes("waits") || how.includes("removes");
  });
}

export interface Verdict {
  /** What is wrong; undefined where all is well. */
  fault?: string;
  /** Where the second call did not wait, and that is all right. */
  deviation?: Deviation;
  waited: boolean;
}

/** Stages one case and says whether what came of it is what one of the two orders would have given. */
export async function stage(arena: Arena, baselines: Baselines, one: Case): Promise<Verdict> {
  const { world, first, second, end } = one;
  const { first: holder, second: rival, db } = arena;
  const opened = await answerOf(holder.query(`${restoring(world)} ${first.sql}`));
  const call = answerOf(rival.query(second.sql));
  const waited = await met(db, rival, holder, call);
  await holder.query(end);
  const answers = [opened, await call];
  const outcome = { answers, final: await final(holder) };
  const faults = [...(await unsound(arena, outcome.final))];
  faults.push(...answers.filter((answer) => /^error (?!LH)/.test(answer)));
  if (waited && !mayWait(one)) faults.push("the second waited, which it must not");
  const serial = (last: Statement) => orders(arena, baselines, one, last);
  const expected = await serial(second);
  if (faults.length > 0) return { fault: told(one, outcome, expected, faults), waited };
  if (expected.some((other) => same(outcome, other))) return { waited };
  const deviation = await deviationOf(second, async (sql) =>
    (await serial({ sql })).some((other) => same(outcome, other)),
  );
  if (!deviation) return { fault: told(one, outcome, expected, []), waited };
  if (deviation.again === "another") return { deviation, waited };
  // The comparisons have used the tables: the case is brought about anew.
  const again = await repeated(arena, one);
  const [inOrder] = expected;
  const whole = deviation.again === "answer and rows";
  if (inOrder && (whole ? same(again, inOrder) : again.final === inOrder.final)) {
    return { deviation, waited };
  }
  return { fault: told(one, again, expected, ["called again, once the row was free:"]), waited };
}

/** The deviation of a call by which it came to what it did. */
async function deviationOf(call: Act, fits: (sql: string) => Promise<boolean>) {
  for (const deviation of deviations.filter((one) => one.functions.includes(call.function))) {
    for (const sql of deviation.instead(call, call.sql.match(uuid)?.[0] ?? "")) {
      if (await fits(sql)) return deviation;
    }
  }
  return undefined;
}

/** What the calls would have come to in turn: the second alone after a rollback. */
async function orders(
  arena: Arena,
  baselines: Baselines,
  { world, first, end }: Case,
  last: Statement,
) {
  if (end === "rollback") {
    const alone = await baselines(arena, world, last);
    const undone = await baselines(arena, world, first);
    return [{ ...alone, answers: [undone.answers[0] ?? "", ...alone.answers] }];
  }
  const inOrder = await baselines(arena, world, first, last);
  const turned = await baselines(arena, world, last, first);
  return [inOrder, { ...turned, answers: turned.answers.toReversed() }];
}

/** The same race, and then the second call once more. */
async function repeated(arena: Arena, { world, first, second, end }: Case): Promise<Outcome> {
  const { first: holder, second: rival } = arena;
  const opened = await answerOf(holder.query(`${restoring(world)} ${first.sql}`));
  await rival.query(second.sql);
  await holder.query(end);
  const answers = [opened, await answerOf(rival.query(second.sql))];
  return { answers, final: await final(holder) };
}

const same = (one: Outcome, other: Outcome) =>
  one.final === other.final && one.answers.join("\n") === other.answers.join("\n");

/** The case in words, and where it differs from what it may come to. */
function told(
  { world, first, second, end }: Case,
  outcome: Outcome,
  expected: Outcome[],
  faults: string[],
) {
  const differences = expected.map((other, index) => {
    const [ours, theirs] = [lines(outcome), lines(other)];
    return [
      `  against ${index === 0 ? "this order" : "the other order"}:`,
      ...ours.filter((line) => !theirs.includes(line)).map((line) => `    + ${line}`),
      ...theirs.filter((line) => !ours.includes(line)).map((line) => `    - ${line}`),
    ].join("\n");
  });
  return [
    `${world.name}: ${first.name} held open, ${second.name}, ${end}`,
    ...faults,
    ...differences,
  ].join("\n");
}

const lines = ({ answers, final }: Outcome) => [
  `first: ${answers[0]}`,
  `second: ${answers[1]}`,
  ...final.split("\n"),
];
