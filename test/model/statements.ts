import { quoteLiteral } from "../../src/schema/schema-name.ts";
import type { Asked, Call, Claim, Outcome } from "./state.ts";

/**
 * The model's calls as SQL. Every delay, lease and time limit is so long that none passes while a test
 * runs, and each longer than the one before: a lease ends within its timeout.
 */
const dayMs = 86_400_000;
const lease = `${2 * dayMs}`;
const timeout = `${7 * dayMs}`;
const startWithinMs = 14 * dayMs;

/** The id of a job of this name, as an SQL literal. */
export type IdOf = (name: string) => string;

const text = (value: string | undefined) => (value === undefined ? "null" : quoteLiteral(value));
const json = (value: unknown) =>
  value === undefined ? "null" : `${quoteLiteral(JSON.stringify(value))}::jsonb`;
const list = (values: string[], type: string) => `array[${values.join(", ")}]::${type}[]`;

/** One statement that answers one jsonb value. */
export function statementOf(call: Call, idOf: IdOf): string {
  return (statements[call.fn] as (call: Call, idOf: IdOf) => string)(call, idOf);
}

const value = (expression: string) => `select to_jsonb(leasehold.${expression})`;
const claimedRows = (expression: string) => `
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'kind', c.kind, 'key', c.key, 'owner', c.owner,
    'payload', c.payload, 'attempts', c.attempts, 'maxAttempts', c.max_attempts, 'generation', c.generation,
    'releases', c.releases, 'budgetReleases', c.budget_releases)), '[]') from leasehold.${expression} c`;

/** finish_and_claim that claims nothing, with the answer of finish_many: it leaves out what simply is completed. */
const exchanged = (ids: string, rest: string) => `
  with f as (select coalesce(finished, '{"done": [], "refused": [], "busy": []}') as finished
    from leasehold.finish_and_claim(${ids}, ${rest}))
  select f.finished || jsonb_build_object('done', f.finished -> 'done' || (
    select coalesce(jsonb_agg(jsonb_build_object('id', c, 'status', 'completed')), '[]') from unnest(${ids}) c
    where not jsonb_path_exists(f.finished, '$.** ? (@ == $id)', jsonb_build_object('id', c)))) from f`;

function optionsOf(job: Asked) {
  const { kind, payload, maxAttempts, onConflict, delayed, startWithin, ...options } = job;
  return {
    ...options,
    max_attempts: maxAttempts,
    ...(onConflict === undefined ? {} : { on_conflict: onConflict }),
    ...(delayed ? { delay_ms: dayMs } : {}),
    ...(startWithin ? { start_within_ms: startWithinMs } : {}),
  };
}

/** A delayed fail has the kind's backoff. */
const afterFail = (delayed?: boolean) => (delayed ? null : 0);
const afterRelease = (delayed?: boolean) => (delayed ? dayMs : 0);

function outcomeOf(outcome: Outcome) {
  const { id, generation, action } = outcome;
  const claim = { id, generation, action };
  if (outcome.action === "complete") return { ...claim, result: outcome.result ?? null };
  if (outcome.action === "release") {
    const after = afterRelease(outcome.delayed);
    return { ...claim, retry_after_ms: after, error_code: outcome.code ?? null };
  }
  const after = afterFail(outcome.delayed);
  const error = { code: outcome.code, message: "broken" };
  return { ...claim, error, permanent: outcome.permanent ?? false, retry_after_ms: after };
}

type Statements = { [F in Call["fn"]]: (call: Extract<Call, { fn: F }>, idOf: IdOf) => string };

const own = ({ id, generation }: Claim, idOf: IdOf) => `${idOf(id)}, ${generation}`;

const statements = {
  enqueue: ({ job }) =>
    value(`enqueue(${text(job.kind)}, ${json(job.payload)}, ${json(optionsOf(job))})`),
  enqueue_many: ({ jobs }) => {
    const entries = jobs.map((job) => {
      return { kind: job.kind, payload: job.payload, ...optionsOf(job) };
    });
    return value(`enqueue_many(${json(entries)})`);
  },
  claim: ({ kinds, limit, except = [] }, idOf) => {
    const skip = list(except.map(idOf), "uuid");
    const names = list(kinds.map(text), "text");
    return claimedRows(`claim(${names}, ${limit}, ${lease}, 'w', ${timeout}, ${skip})`);
  },
  claim_job: ({ id }, idOf) => claimedRows(`claim_job(${idOf(id)}, ${lease}, 'w', ${timeout})`),
  extend: (call, idOf) =>
    `${value(`extend(${own(call, idOf)}, null, ${json(call.progress)})`)} - 'lease_until'`,
  complete: (call, idOf) => value(`complete(${own(call, idOf)}, ${json(call.result)})`),
  fail: (call, idOf) => {
    const error = json({ code: call.code, message: "broken" });
    const { permanent = false, delayed } = call;
    return value(`fail(${own(call, idOf)}, ${error}, ${permanent}, ${afterFail(delayed)})`);
  },
  release: (call, idOf) =>
    value(`release(${own(call, idOf)}, ${afterRelease(call.delayed)}, ${text(call.code)})`),
  finish_many: ({ outcomes, byExchange }, idOf) => {
    const given = (some: Outcome[]) => {
      const each = some.map((outcome) => {
        const { id, ...rest } = outcomeOf(outcome);
        return `jsonb_build_object('id', ${idOf(id)}) || ${json(rest)}`;
      });
      return `to_jsonb(${list(each, "jsonb")})`;
    };
    if (!byExchange) return value(`finish_many(${given(outcomes)})`);
    const completed = outcomes.filter(({ action }) => action === "complete");
    const others = outcomes.filter(({ action }) => action !== "complete");
    const ids = list(
      completed.map(({ id }) => idOf(id)),
      "uuid",
    );
    const generations = list(
      completed.map(({ generation }) => `${generation}`),
      "int",
    );
    return exchanged(
      ids,
      `${generations}, jsonb_path_query_array(${given(completed)}, '$[*].result'), ${given(others)}`,
    );
  },
  guard: (call, idOf) =>
    `with g as (select leasehold.guard(${own(call, idOf)})) select null from g`,
  step_save: (call, idOf) =>
    value(`step_save(${own(call, idOf)}, ${text(call.name)}, ${json(call.value)})`),
  status: ({ id, owner }, idOf) =>
    `${value(`status(${idOf(id)}, ${text(owner)})`)} - array['created_at', 'started_at', 'finished_at']`,
  cancel: ({ id, owner }, idOf) => value(`cancel(${idOf(id)}, ${text(owner)})`),
  retry: ({ id, owner }, idOf) => value(`retry(${idOf(id)}, ${text(owner)})`),
  cancel_many: ({ ids }, idOf) => value(`cancel_many(${filter(ids, idOf)})`),
  retry_many: ({ ids }, idOf) => value(`retry_many(${filter(ids, idOf)})`),
  run_now: ({ id }, idOf) => value(`run_now(${idOf(id)})`),
  remove: ({ id }, idOf) => value(`remove(${idOf(id)})`),
  reap: () => value("reap()"),
  prune: () => value(`prune('{"older_than_ms": 0}')`),
  has_due_work: ({ kinds }) =>
    value(`has_due_work(${kinds === undefined ? "null" : list(kinds.map(text), "text")})`),
  pause: ({ kind }) => value(`pause(${text(kind)})`),
  resume: ({ kind }) => value(`resume(${text(kind)})`),
  credits: ({ account }) => value(`credits(${text(account)})`),
  grant_credits: ({ account, amount, reference }) =>
    value(`grant_credits(${text(account)}, ${amount}, ${text(reference)})`),
  refund: ({ id, amount, reference }, idOf) =>
    value(`refund(${idOf(id)}, ${amount}, ${text(reference)})`),
  pass: ({ id, what }, idOf) =>
    what === "once"
      ? `update leasehold.once o set expires_at = clock_timestamp() - interval '1 s'
         where concat_ws(' ', o.kind, o.owner, o.once) = ${text(id)} returning null::jsonb`
      : `update leasehold.jobs j set ${passing[what]} where j.id = ${idOf(id)} returning null::jsonb`,
} satisfies Statements;

const filter = (ids: string[], idOf: IdOf) =>
  `jsonb_build_object('ids', to_jsonb(${list(ids.map(idOf), "uuid")}))`;

const ago = "clock_timestamp() - interval '1 s'";
/** A start_by is never before its run_after, a lease never ends after its timeout. */
const passing = {
  run_after: `run_after = least(j.run_after, ${ago})`,
  start_by: `start_by = ${ago}, run_after = least(j.run_after, ${ago})`,
  lease_until: `lease_until = ${ago}`,
  timeout_at: `timeout_at = ${ago}, lease_until = ${ago}`,
};
