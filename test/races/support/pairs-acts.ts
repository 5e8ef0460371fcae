import { JOB, LOOK, OTHER, type Room, TOKEN, WORKER } from "./pairs-worlds.ts";

/** One call of a function, in the worlds of its rooms. */
export interface Act {
  name: string;
  function: string;
  /** A statement that answers one row with `answer`. */
  sql: string;
  rooms: Room[];
  /** Only in worlds with such a name: in the others it would do the same, or nothing. */
  only?: RegExp;
}

const TEN_MINUTES = 600_000;
const broken = `'{"code": "BROKEN", "message": "It broke."}'`;

const select = (name: string, args: string) => `select leasehold.${name}(${args}) as answer`;
const rows = (name: string, args: string) =>
  `select coalesce(jsonb_agg(to_jsonb(c)), '[]') as answer from leasehold.${name}(${args}) c`;
const json = (value: unknown) => `'${JSON.stringify(value)}'`;

const on =
  (room: Room) =>
  (name: string, args: string, more: Partial<Act> = {}): Act => ({
    name,
    function: name,
    sql: select(name, args),
    rooms: [room],
    ...more,
  });
const job = on("job");
const thing = on("thing");
const look = (name: string, args: string, more: Partial<Act> = {}): Act => ({
  ...on("look")(name, args),
  name: `${name} of the look`,
  ...more,
});
const claiming = (name: string, args: string) => ({ sql: rows(name, args) });

const finishing = (id: string, outcome: object) => json([{ id, generation: 1, ...outcome }]);
const failing = { action: "fail", error: { code: "BROKEN" }, retry_after_ms: TEN_MINUTES };
const paid = { cost: 3, account: "ann" };
const enqueuing = (options: object) => `'mail', '"new"', ${json({ key: "k", ...options })}`;

/** For what locks a job that is not finished, and does nothing to it: two states stand for all. */
const lockedOnly = /nothing|^queued$|^running$|last time|failed|cancelled|completed/;

const jobActs: Act[] = [
  job("enqueue", enqueuing(paid)),
  job("enqueue", enqueuing({ on_conflict: "replace" }), {
    name: "enqueue, replace",
    only: /nothing|^queued$|^running$|^expired$|orphan|^cancelled$/,
  }),
  job("enqueue", enqueuing({ on_conflict: "rerun" }), {
    name: "enqueue, rerun",
    only: /nothing|^queued$|^running$|^expired$|rerun/,
  }),
  job("enqueue", enqueuing({ once: "o" }), {
    name: "enqueue, once",
    only: /nothing|^queued$|^failed/,
  }),
  job(
    "enqueue_many",
    json([
      { kind: "mail", key: "k", ...paid },
      { kind: "mail", key: "l" },
    ]),
  ),
  job("enqueue_many", json([{ kind: "mail", key: "k", once: "o", ...paid }]), {
    name: "enqueue_many, once",
    only: /nothing|^queued$|^failed/,
  }),
  job("enqueue_many", json([{ kind: "mail", key: "k", on_conflict: "replace" }]), {
    name: "enqueue_many, replace",
    only: /^queued|^running$/,
  }),
  job("retry", `'${JOB}'`, { only: lockedOnly }),
  job("retry_many", json({ ids: [JOB] })),
  job("retry", `'${OTHER}'`, { name: "retry of the other", only: /a cancel requested/ }),
  job("retry_many", json({ ids: [OTHER] }), {
    name: "retry_many of the other",
    only: /a cancel requested/,
  }),
  job("run_now", `'${JOB}'`),
  job("run_now_many", json({ ids: [JOB] }), { only: lockedOnly }),
  job("claim", "", claiming("claim", "array['mail'], 5, 300000, 'w'")),
  job("claim_job", "", claiming("claim_job", `'${JOB}', 300000, 'w'`)),
  job("extend", `'${JOB}', 1, ${TEN_MINUTES}, '"half"'`, {
    only: /^running$|^expired$|cancel requested|rerun/,
  }),
  job("extend_many", json([{ id: JOB, generation: 1, lease_ms: TEN_MINUTES }]), {
    only: /^running$|^expired$/,
  }),
  job("guard", `'${JOB}', 1`, { only: /^running$|^expired|rerun/ }),
  job("step_save", `'${JOB}', 1, 'fetch', '1', ${TEN_MINUTES}`, {
    only: /^running$|^expired$|cancel requested|rerun/,
  }),
  job("complete", `'${JOB}', 1, '"done"'`),
  job("fail", `'${JOB}', 1, ${broken}, false, ${TEN_MINUTES}`),
  job("release", `'${JOB}', 1, ${TEN_MINUTES}, 'LATER'`),
  job("finish_many", finishing(JOB, { action: "complete", result: "done" })),
  job("finish_many", finishing(JOB, failing), {
    name: "finish_many, a failure",
    only: /last time|cancel requested|elsewhere|rerun/,
  }),
  job(
    "finish_and_claim",
    "",
    claiming(
      "finish_and_claim",
      `array['${JOB}']::uuid[], array[1], '["done"]', null, array['mail'], 5`,
    ),
  ),
  job("worker_recover", "'w', array['mail'], '{}'"),
  job("reap", ""),
  job("status", `'${JOB}'`, { only: /^running$|expired|past/ }),
  job("cancel", `'${JOB}'`),
  job("cancel_many", json({ ids: [JOB] }), {
    only: /^queued$|^running$|last time|failed, paid|completed/,
  }),
  job("remove", `'${JOB}'`, { only: lockedOnly }),
  job("remove_many", json({ ids: [JOB] }), { only: lockedOnly }),
  job("prune", json({ older_than_ms: 0, kinds: ["mail"] })),
  job("grant_credits", "'ann', 5, 'more'", { only: /paid|nothing|orphan/ }),
  job("refund", `'${JOB}', 2, 'back'`, { only: lockedOnly }),
  job("pause", "'mail'", { only: /^queued$/ }),
  job("define_kind", json({ lease_ms: 120_000 }).replace(/^/, "'mail', "), { only: /^queued$/ }),
];

const reconciling = "array['leasehold.reconcile'], 5, 300000";
const both = json({ ids: [LOOK, JOB] });

/** Where a look may have a claim; elsewhere these leave no more than a trace. */
const lookActs: Act[] = [
  look("complete", `'${LOOK}', 1, '{"ledger": "charged"}'`),
  look("fail", `'${LOOK}', 1, ${broken}, true`),
  look("release", `'${LOOK}', 1, ${TEN_MINUTES}`),
  look("finish_many", finishing(LOOK, { action: "complete", result: { ledger: "refunded" } })),
  look("extend", `'${LOOK}', 1, ${TEN_MINUTES}`),
  look("claim", "", claiming("claim", reconciling)),
  look("claim_job", "", claiming("claim_job", `'${LOOK}', 300000`)),
  look("reap", "", { name: "reap" }),
  look("status", `'${LOOK}'`),
  look("cancel", `'${LOOK}'`),
  look("retry", `'${LOOK}'`),
  look("cancel_many", both, { name: "cancel_many of both" }),
  look("retry_many", both, { name: "retry_many of both" }),
  look("remove", `'${LOOK}'`),
  look("remove", `'${JOB}'`, { name: "remove of the job" }),
  look("retry", `'${JOB}'`, { name: "retry of the job" }),
  look("cancel", `'${JOB}'`, { name: "cancel of the job" }),
  look("prune", json({ older_than_ms: 0, kinds: ["mail", "leasehold.reconcile"] }), {
    name: "prune",
  }),
];

const beat = { name: "w", kinds: ["mail"], concurrency: 2, idle: true, listening: false };
const once = json({ once: "o" });

const thingActs: Act[] = [
  thing("enqueue", `'mail', '{}', ${once}`),
  thing("enqueue_many", json([{ kind: "mail", once: "o" }])),
  thing("grant_credits", "'ann', 5, 'more'"),
  thing("define_kind", `'mail', ${json({ lease_ms: 120_000 })}`),
  thing("define_kind", `'mail', ${json({ max_attempts: 3 })}`, {
    name: "define_kind, another default",
  }),
  thing("pause", "'mail'"),
  thing("resume", "'mail'"),
  thing("worker_beat", `'${WORKER}', ${json(beat)}`),
  thing("worker_stop", `'${WORKER}'`),
  thing("workers", ""),
  thing("cache_begin", "'tile', 300000"),
  thing("cache_put", `'tile', '${TOKEN}', '1', ${TEN_MINUTES}`),
  thing("cache_drop", "'tile'"),
  thing("cache_drop", `'tile', '${TOKEN}'`, { name: "cache_drop of a fill" }),
  thing("every", `'sweep', 60000`),
  thing("claim", "", claiming("claim", "array['mail'], 5, 300000, 'w'")),
  thing(
    "finish_and_claim",
    "",
    claiming("finish_and_claim", "'{}', '{}', null, null, array['mail'], 5, 'w'"),
  ),
  thing("claim_job", "", claiming("claim_job", `'${JOB}', 300000, 'w'`)),
  thing("claim_alerts", "10, 300000"),
  thing("finish_alerts", "array[1]"),
  thing("acknowledge_alerts", "array[1], 'ann'"),
  thing("note_drain", `'cron', '{"processed": 1}'`),
  thing("prune", json({ older_than_ms: 0, kinds: ["mail"] })),
];

export const acts: Act[] = [...jobActs, ...lookActs, ...thingActs];
