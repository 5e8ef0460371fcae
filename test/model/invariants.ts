import { isFinished } from "./life.ts";
import type { Call, Job, State } from "./state.ts";

/**
 * Which invariants of the design a step broke, in words; none, it is hoped. They are asked of the model's
 * states, which are the database's: the drivers compare the two after each step.
 */
export function broken(before: State, call: Call, after: State): string[] {
  const jobs = Object.values(after.jobs);
  return [
    ...jobs.flatMap((job) => brokenJob(job)),
    ...jobs.flatMap((job) => brokenStep(before.jobs[job.id], job, call)),
    ...brokenKeys(jobs),
    ...brokenBooks(after),
    ...brokenRemoval(before, after),
  ];
}

const when = (rule: string, isBroken: boolean) => (isBroken ? [rule] : []);

function brokenJob(job: Job): string[] {
  const { id, status, attempts, maxAttempts, lease, money, cost } = job;
  const ended = { completed: ["captured", "refunded"], failed: ["given_back"] };
  const wanted = isFinished(job)
    ? (ended[status as keyof typeof ended] ?? ["given_back"])
    : ["held"];
  return [
    ...when(`${id}: attempts beyond max_attempts`, attempts < 0 || attempts > maxAttempts),
    ...when(`${id}: a lease without running`, (status === "running") !== (lease !== null)),
    ...when(`${id}: a rerun without running`, status !== "running" && job.rerun !== null),
    ...when(`${id}: a cancel ignored`, status === "failed" && job.cancelRequested),
    ...when(`${id}: failed without a code`, status === "failed" && job.error === null),
    ...when(`${id}: money`, cost === null ? money !== null : !wanted.includes(money ?? "")),
  ];
}

/** What one step may do to one job. */
function brokenStep(before: Job | undefined, job: Job, call: Call): string[] {
  if (before === undefined) return [];
  const { id } = job;
  const grown = job.generation - before.generation;
  const isClaim = call.fn === "claim" || call.fn === "claim_job";
  const isOther = "generation" in call && (call.id !== id || call.generation !== before.generation);
  const isStale = isOther || ("generation" in call && before.status !== "running");
  const hasBegunAnew = job.run > before.run;
  return [
    ...when(`${id}: generation fell, or leapt`, grown < 0 || grown > 1),
    ...when(
      `${id}: a claim without a generation`,
      job.status === "running" && isClaim && grown === 0 && before.status !== "running",
    ),
    ...when(
      `${id}: running without a claim`,
      job.status === "running" && before.status !== "running" && !isClaim,
    ),
    ...when(`${id}: a generation without a claim`, grown > 0 && !isClaim),
    ...when(
      `${id}: a write under a claim that is not valid`,
      isStale && JSON.stringify(before) !== JSON.stringify(job),
    ),
    ...when(
      `${id}: finished twice`,
      isFinished(before) && before.status !== job.status && !hasBegunAnew,
    ),
    ...when(`${id}: attempts fell`, job.attempts < before.attempts - 1 && !hasBegunAnew),
  ];
}

function brokenKeys(jobs: Job[]): string[] {
  const keys = jobs.filter((job) => job.key !== null && !isFinished(job));
  const names = keys.map(({ kind, key }) => `${kind} ${key}`);
  return when("two unfinished jobs of one key", new Set(names).size < names.length);
}

/** What was granted is available, held, or captured and not refunded. */
function brokenBooks(state: State): string[] {
  return Object.entries(state.accounts).flatMap(([account, available]) => {
    const holds = Object.values(state.holds).filter((hold) => hold.account === account);
    const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);
    const refunded = holds.map(({ refunds }) => sum(Object.values(refunds)));
    const gone = holds.map(({ amount, state: end }) => (end === "given_back" ? 0 : amount));
    const granted = sum(Object.values(state.grants[account] ?? {}));
    return [
      ...when(`${account}: less than nothing`, available < 0),
      ...when(`${account}: books`, available + sum(gone) - sum(refunded) !== granted),
      ...when(
        `${account}: refunds`,
        holds.some((hold, nth) => (refunded[nth] ?? 0) > hold.amount),
      ),
    ];
  });
}

function brokenRemoval(before: State, after: State): string[] {
  const gone = Object.values(before.jobs).filter(({ id }) => after.jobs[id] === undefined);
  return gone.filter((job) => !isFinished(job)).map(({ id }) => `${id}: removed unfinished`);
}
