import { setTimeout as pause } from "node:timers/promises";
import { type Handled, handle, type Job, PermanentError } from "leasehold";
import { charging, jobs, leaseMs, type Task } from "./jobs.ts";
import type { Provider } from "./provider.ts";
import { type Rubbish, rubbish } from "./rubbish.ts";

/** What the handlers of one process work with. */
export interface Outside {
  /** Runs a statement of the application's, outside of any transaction. */
  query(text: string, values: unknown[]): Promise<unknown>;
  readonly provider: Provider;
  readonly storageUrl: string;
}

type ChaosJob = Job<Task>;
type Run = (job: ChaosJob, outside: Outside) => unknown;

/** One handler for each kind. Each notes its claim first, so that a claim handed out twice is seen. */
export function chaosHandlers(outside: Outside): Handled[] {
  const noted = (run: Run) => async (job: Job<unknown>) => {
    const values = [job.id, job.generation];
    await outside.query("insert into app.attempts (job_id, generation) values ($1, $2)", values);
    return run(job as ChaosJob, outside);
  };
  const { provider } = outside;
  const charge = charging({
    lookup: (key, context) => provider.lookup(key, context),
    refund: (key, context) => provider.refund(key, context),
  });
  return [
    handle(jobs.write, noted(writeEffect)),
    handle(jobs.guarded, noted(writeGuarded)),
    handle(jobs.steps, noted(takeSteps)),
    handle(jobs.refuse, noted(refuse)),
    handle(jobs.hang, noted(hang)),
    handle(jobs.block, noted(block)),
    handle(jobs.late, noted(comeLate)),
    handle(
      jobs.rubbish,
      noted(({ payload }) => rubbish[payload.how as Rubbish]()),
    ),
    handle(jobs.store, noted(store)),
    handle(jobs.paid, noted(writeEffect)),
    handle(jobs.release, noted(giveBack)),
    handle(jobs.single, noted(writeEffect)),
    handle(jobs.renew, noted(writeEffect)),
    handle(charge, noted(chargeOnce)),
  ];
}

/** Works for a while, fails as often as it is told to, and writes its effect with the completion. */
async function writeEffect(job: ChaosJob): Promise<void> {
  await work(job);
  await effect(job);
}

async function work({ payload, attempt, signal }: ChaosJob): Promise<void> {
  await pause(payload.ms ?? 0, undefined, { signal });
  if (payload.how === "permanent") throw new PermanentError("it can't be done", { code: "NO" });
  if (attempt <= (payload.failures ?? 0)) throw new Error(`a trouble of attempt ${attempt}`);
}

/** The run is read from the row, which guard holds: it is that of this claim. */
function effect(job: ChaosJob, step: string | null = null): Promise<unknown> {
  return job.transaction((client) =>
    statement(client)(
      `insert into app.effects (job_id, run, generation, tag, step)
       select id, run, $2::int, $3::text, $4::text from leasehold.jobs where id = $1`,
      [job.id, job.generation, job.payload.tag, step],
    ),
  );
}

/** node-postgres and postgres.js each have their own way to run a statement by its text. */
function statement(client: {
  query?: Outside["query"];
  unsafe?: Outside["query"];
}): Outside["query"] {
  const run = client.query ?? client.unsafe;
  return async (text, values) => void (await run?.call(client, text, values));
}

/** What a handler that returns says of itself: the claim that it ran under. */
const claimOf = ({ generation }: ChaosJob) => ({ generation });

async function writeGuarded(job: ChaosJob, outside: Outside): Promise<object> {
  await outside.query("select app.write_guarded($1, $2)", [job.id, job.generation]);
  await work(job); // whose claim is lost meanwhile must not complete
  return claimOf(job);
}

async function takeSteps(job: ChaosJob): Promise<void> {
  await job.step("first", () => crypto.randomUUID());
  await work(job);
  const second = await job.step("second", () => crypto.randomUUID());
  await effect(job, second);
}

function refuse(): never {
  throw new PermanentError("it is refused", { code: "REFUSED" });
}

/** Whoever ignores the signal writes after its timeout, when its claim is valid no more. */
async function hang(job: ChaosJob): Promise<void> {
  if (job.payload.how === "obeys") await pause(3_600_000, undefined, { signal: job.signal });
  else await pause(4_000);
  await effect(job);
}

async function block(job: ChaosJob): Promise<void> {
  blockTheEventLoop();
  await effect(job);
}

function comeLate(job: ChaosJob): object {
  blockTheEventLoop();
  return claimOf(job);
}

function blockTheEventLoop(): void {
  const until = performance.now() + 1.5 * leaseMs;
  while (performance.now() < until);
}

/** A path that is fixed in advance: to write twice there leaves one object. */
async function store(job: ChaosJob, { storageUrl }: Outside): Promise<object> {
  const signal = AbortSignal.any([job.signal, AbortSignal.timeout(1_000)]);
  const { tag } = job.payload;
  const answer = await fetch(`${storageUrl}/${job.id}`, { method: "PUT", body: tag, signal });
  if (!answer.ok) throw Object.assign(new Error("the storage"), { status: answer.status });
  await work(job);
  return claimOf(job);
}

async function giveBack(job: ChaosJob): Promise<void> {
  if (job.generation < 3) job.release({ after: "1s" });
  await effect(job);
}

/** Not by a stale worker: the lease is renewed right before the charge. */
async function chargeOnce(job: ChaosJob, { provider }: Outside): Promise<object> {
  const key = await job.idempotencyKey();
  if (job.payload.how === "permanent before") refuse();
  if (!(await job.extend())) throw job.signal.reason;
  await provider.charge(key);
  if (job.payload.how === "permanent after") refuse();
  await work(job);
  return claimOf(job);
}
