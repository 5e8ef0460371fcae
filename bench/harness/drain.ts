import { nowMs, pause } from "../child/clock.ts";
import type { ConsumerGiven, Used } from "../child/protocol.ts";
import { checkRuns } from "./check.ts";
import type { Child } from "./child-process.ts";
import type { Place } from "./place.ts";
import { Progress, type Step } from "./progress.ts";

export interface DrainGiven {
  readonly kinds: readonly string[];
  /** So many processes. */
  readonly consumers: number;
  /** Jobs that are due: their numbers are 0 to below this. */
  readonly due: number;
  /** Ends it when so many have run, and measures up to there; without it all. */
  readonly first?: number;
  /** Jobs in the queue that are not due. */
  readonly waiting?: number;
  readonly handlerMs?: number;
  readonly best?: ConsumerGiven["best"];
}

/** How a drain went. */
export interface Drained {
  /** Jobs that were claimed, run and recorded within `seconds`: without those in hand at its start. */
  readonly jobs: number;
  /** There were so few that all were in hand at the start; then they count. */
  readonly allInHand: boolean;
  readonly seconds: number;
  /** From the consumers' beginning to connect until each had a job in hand. */
  readonly startSeconds: number;
  /** Of the consumers' processes. */
  readonly consumerCpuSeconds: number;
  /** Of PostgreSQL, and of Redis where there is one; undefined where there is no /proc. */
  readonly serverCpuSeconds: number | undefined;
  /** Of the largest consumer. */
  readonly peakMb: number;
  readonly steps: readonly Step[];
  readonly fromMs: number;
  /** The time limit ended it. */
  readonly cut: boolean;
}

const firstJobWithinMs = 30_000;

/** So much later than the first consumer's. Where there are few jobs, nothing is left for the second. */
const otherJobsWithinMs = 2_000;

/** A queue in which nothing has run for so long, or half of the limit, hangs: it is not just slow. */
const hangsMs = 10_000;

/** A queue may take so long to say that nothing is left once its consumers have stopped. */
const countWithinMs = 5_000;

/**
 * Drains a queue that is filled already. The consumers connect and take their first jobs, whose
 * handlers wait; then all are told to go, and the clock runs until the last outcome is recorded: until
 * the queue says that nothing is unfinished, or the consumers' `stop` has resolved, whichever is seen
 * first. Throws where a job was lost or ran twice.
 */
export async function drain(place: Place, given: DrainGiven): Promise<Drained> {
  const children = Array.from({ length: given.consumers }, () => place.start());
  const watcher = place.start();
  const progress = new Progress(children);
  await watcher.call("unfinished", { url: place.url });
  const startSeconds = await begin(place, children, given);

  const cpuBefore = place.bench.cpuSeconds();
  const fromMs = nowMs();
  const goes = await all(children, (child) => child.call("go", {}));
  const inHand = goes.reduce((sum, go) => sum + go.inHand, 0);

  const target = Math.min(given.due, (given.first ?? given.due) + inHand);
  const reached = await progress.until(target, place.bench.limitMs);
  const last = reached ?? progress.steps.at(-1) ?? { ran: inHand, atMs: fromMs };
  const whole = reached !== undefined && given.first === undefined;
  if (reached === undefined) failIfItHangs(last, given.due, place.bench.limitMs);
  const stopping = stop(children);
  const endMs = whole ? await recordedAt(place, watcher, stopping, given) : last.atMs;
  const cpuAfter = place.bench.cpuSeconds();
  const used = await stopping;
  await check(place, watcher, children, given, whole);

  return {
    jobs: last.ran - inHand || last.ran,
    allInHand: last.ran === inHand,
    seconds: (endMs - fromMs) / 1_000,
    startSeconds,
    consumerCpuSeconds: used.reduce((sum, each) => sum + each.cpuSeconds, 0),
    serverCpuSeconds:
      cpuBefore === undefined || cpuAfter === undefined ? undefined : cpuAfter - cpuBefore,
    peakMb: Math.max(...used.map((each) => each.peakMb)),
    steps: progress.steps,
    fromMs,
    cut: reached === undefined,
  };
}

function all<T>(children: readonly Child[], ask: (child: Child) => Promise<T>): Promise<T[]> {
  return Promise.all(children.map(ask));
}

async function begin(place: Place, children: readonly Child[], given: DrainGiven) {
  const { kinds, best = "throughput", handlerMs = 0 } = given;
  const consumer: ConsumerGiven = {
    ...{ url: place.url, kinds, best, handlerMs },
    ...{ held: true, times: false },
  };
  // Loaded: what is measured as its start begins with its connections.
  await all(children, (child) => child.call("runs", {}));
  const beginMs = nowMs();
  await all(children, (child) => child.call("openConsumer", consumer));
  await firstJobs(children);
  return (nowMs() - beginMs) / 1_000;
}

/** Resolves when each has a job in hand. Throws where none has. */
async function firstJobs(children: readonly Child[]): Promise<void> {
  const has = children.map((child) => child.call("firstJob", { withinMs: firstJobWithinMs }));
  if (!(await Promise.race(has))) {
    throw new Error(`No consumer had a job within ${firstJobWithinMs / 1_000} s.`);
  }
  await Promise.race([Promise.all(has), pause(otherJobsWithinMs)]);
}

function stop(children: readonly Child[]): Promise<Used[]> {
  return all(children, (child) => child.call("stop", {}));
}

/** The time is over: either there are more jobs than the time is for, or one of them does not come. */
function failIfItHangs({ ran, atMs }: Step, due: number, limitMs: number): void {
  const sinceMs = nowMs() - atMs;
  if (sinceMs < Math.min(hangsMs, limitMs / 2)) return;
  const seconds = Math.round(sinceMs / 1_000);
  throw new Error(
    `No figure, since ${ran} of ${due} jobs had run, and none in the last ${seconds} s`,
  );
}

/** When the last outcome was recorded, by the earlier of two sights of it. */
async function recordedAt(
  place: Place,
  watcher: Child,
  stopping: Promise<Used[]>,
  { waiting = 0 }: DrainGiven,
): Promise<number> {
  let stopped = false;
  const byStop = stopping.then((used) => {
    stopped = true;
    return Math.max(...used.map(({ stoppedMs }) => stoppedMs));
  });
  const byCount = async (): Promise<number> => {
    while (!stopped) {
      if ((await watcher.call("unfinished", { url: place.url })) <= waiting) return nowMs();
    }
    return byStop;
  };
  return Promise.race([byStop, byCount()]);
}

async function check(
  place: Place,
  watcher: Child,
  children: readonly Child[],
  { due, waiting = 0 }: DrainGiven,
  whole: boolean,
): Promise<void> {
  const runs = await all(children, (child) => child.call("runs", {}));
  const ran = children.reduce((sum, child) => sum + child.ran, 0);
  let unfinished = await watcher.call("unfinished", { url: place.url });
  for (const end = nowMs() + countWithinMs; nowMs() < end; ) {
    if (unfinished === due + waiting - ran) break;
    await pause(50);
    unfinished = await watcher.call("unfinished", { url: place.url });
  }
  checkRuns(runs, { due, all: whole, waiting, unfinished });
}
