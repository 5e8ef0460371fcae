import type { Queryable } from "../support/queryable.ts";
import { wrongStep, wrongs } from "./check.ts";
import { apply } from "./model.ts";
import { type End, type Ids, named, sql } from "./real.ts";
import { written } from "./schema.ts";
import { type Call, type Claim, nothing, type State } from "./state.ts";

/** A state, with what the two workers remember. */
export interface World {
  state: State;
  /** The last claim of each; it may be stale. */
  workers: (Claim | null)[];
}

/** A call, and which worker makes it. */
export interface Step {
  call: Call;
  worker?: number;
}

export interface Space {
  /** Where it begins, from nothing. */
  start: Call[];
  /** Everything that may happen next. */
  steps: (world: World) => Step[];
}

interface Visited extends World {
  ids: Ids;
  /** The rows of the database, to return to. */
  rows: unknown;
  /** How it was reached first, and so in the fewest steps. */
  from: { visited: Visited; step: Step } | null;
}

interface RealEnd extends End {
  rows?: unknown;
  verify?: unknown;
}

/**
 * Goes breadth first through all states of a space: from each, every step is tried on the database and
 * on the model, and both must answer alike and leave the same. Answers how many states there are, and
 * how many steps were tried. Throws at the first difference, with the shortest path that leads there.
 */
export async function explore(db: Queryable, space: Space) {
  const queue = [await begin(db, space)];
  const seen = new Set(queue.map(keyOf));
  let steps = 0;
  for (const [index, visited] of queue.entries()) {
    const tried = space.steps(visited).map((step) => attempt(visited, step, seen));
    const ends = await visit(db, visited, tried);
    for (const [nth, each] of tried.entries()) {
      const reached = next(visited, each, ends[nth] as RealEnd);
      if (each.isNew) queue.push(reached);
    }
    steps += tried.length;
    visited.rows = null;
    // What was undone leaves dead rows, which every look would have to pass.
    if (index % 50 === 0) await db.query(vacuum);
  }
  return { states: seen.size, steps };
}

const vacuum = `vacuum ${written.map((table) => `leasehold.${table}`).join(", ")}`;

interface Attempt {
  step: Step;
  answer: unknown;
  world: World;
  isNew: boolean;
}

/** A step on the model. */
function attempt(visited: Visited, step: Step, seen: Set<string>): Attempt {
  const { state, answer } = apply(visited.state, step.call);
  const world = { state, workers: remember(visited, step, answer) };
  const key = keyOf(world);
  const isNew = !seen.has(key);
  seen.add(key);
  return { step, answer, world, isNew };
}

function remember({ workers }: World, { call, worker }: Step, answer: unknown): World["workers"] {
  if (call.fn !== "claim" && call.fn !== "claim_job") return workers;
  const [claim] = answer as Claim[];
  if (claim === undefined) return workers;
  return workers.map((each, nth) =>
    nth === worker ? { id: claim.id, generation: claim.generation } : each,
  );
}

async function begin(db: Queryable, space: Space): Promise<Visited> {
  const rows = await db.value("select model.rows()");
  let visited: Visited = { state: nothing, workers: [null, null], ids: {}, rows, from: null };
  for (const call of space.start) {
    const each = attempt(visited, { call }, new Set());
    const [end] = await visit(db, visited, [each]);
    visited = next(visited, each, end as RealEnd);
  }
  return visited;
}

/** Where an attempt led. */
function next(visited: Visited, each: Attempt, end: RealEnd): Visited {
  const ids = compare(visited, each, end);
  return { ...each.world, ids, rows: end.rows, from: { visited, step: each.step } };
}

/** The same steps on the database, in one round trip. */
async function visit(db: Queryable, { ids, rows }: Visited, tried: Attempt[]): Promise<RealEnd[]> {
  const statements = tried.map(({ step }) => sql(step.call, ids));
  const keep = tried.map(({ isNew }) => isNew);
  return db.value("select model.visit($1, $2, $3)", [JSON.stringify(rows), statements, keep]);
}

/** Throws where the two differ; answers the ids of all jobs so far. */
function compare(visited: Visited, { step, answer, world }: Attempt, real: RealEnd): Ids {
  const { ids, ...end } = named(real, visited.ids);
  const { verify } = real;
  const { call } = step;
  const found = wrongs({
    ...{ before: visited.state, call, answer, after: world.state },
    end: { ...end, verify },
  });
  if (found.length > 0) throw wrongStep([...pathTo(visited), step], found);
  return ids;
}

function pathTo({ from }: Visited): Step[] {
  return from === null ? [] : [...pathTo(from.visited), from.step];
}

/**
 * What makes two worlds the same for all that follows: names, counts that only ever grow and texts are
 * left out, a generation is current or stale, the two workers may change places.
 */
export function keyOf({ state, workers }: World): string {
  const jobs = Object.values(state.jobs);
  const places = new Map(jobs.map(({ id }, place) => [id, place]));
  const seats = workers.map((claim) => {
    const place = claim === null ? undefined : places.get(claim.id);
    if (claim === null || place === undefined) return claim === null ? "none" : "gone";
    return `${place} ${jobs[place]?.generation === claim.generation ? "current" : "stale"}`;
  });
  const money = [state.accounts, state.paused];
  return JSON.stringify([jobs.map((job) => keyOfJob(job, state)), seats.sort(), money]);
}

function keyOfJob(job: State["jobs"][string], state: State) {
  const { status, attempts, due, startBy, lease, timeout, cancelRequested, rerun } = job;
  const repeatable = job.completedUnder === job.generation;
  const lasting = [job.priority, status, repeatable, Object.keys(job.steps), job.money];
  const refunds = Object.keys(state.holds[job.id]?.refunds ?? {});
  if (status === "queued") return [...lasting, attempts, job.releases > 0, due, startBy];
  if (status !== "running") return [...lasting, refunds];
  const pending = rerun === null ? null : due;
  return [...lasting, attempts, job.releases > 0, lease, timeout, cancelRequested, pending];
}
