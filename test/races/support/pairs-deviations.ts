import type { Act } from "./pairs-acts.ts";
import { JOB, LOOK, OTHER } from "./pairs-worlds.ts";

/**
 * Where a call that meets a locked row may do something else than in either order of the two: not
 * wait, and say so. What it does then is what one of these statements would do in its place.
 */
export interface Deviation {
  reason: string;
  functions: string[];
  /** The statement that does, and answers, the same without a rival. `id` is the job's. */
  instead: (act: Act, id: string) => string[];
  /** Whether the same call, once the row is free, brings about what it would have: by its answer, too? */
  again: "answer and rows" | "rows" | "another";
}

const answer = (value: unknown) => [`select '${JSON.stringify(value)}'::jsonb as answer`];
const unexpired = ({ sql }: Pick<Act, "sql">) => [
  `select pairs.unexpired($call$${sql}$call$) as answer`,
];
const busy = (id: string, held: string) => [
  `select ${held} as answer from leasehold.jobs j where j.id = '${id}'`,
];

/** The first row of finish_and_claim. */
const onlyFinished = (finished: object) =>
  `to_jsonb(jsonb_populate_record(null::leasehold.finished_and_claimed, '${JSON.stringify({
    finished: { done: [], refused: [], busy: [], ...finished },
  })}'))`;

export const deviations: Deviation[] = [
  {
    reason:
      "a lease is renewed by a timer, which must not wait behind the handler's own transaction",
    functions: ["extend"],
    instead: (_, id) => busy(id, "leasehold._held(j, true)"),
    again: "answer and rows",
  },
  {
    reason: "one held job must not keep the leases of the others from being renewed",
    functions: ["extend_many"],
    instead: (_, id) =>
      busy(id, "jsonb_build_array(jsonb_build_object('id', j.id) || leasehold._held(j, true))"),
    again: "answer and rows",
  },
  {
    reason:
      "one held job must not keep the outcomes of the others from being recorded: it is reported busy",
    functions: ["finish_many"],
    instead: (_, id) => answer({ done: [], refused: [], busy: [id] }),
    again: "answer and rows",
  },
  {
    reason: "a worker that finishes and claims in one call waits for neither",
    functions: ["finish_and_claim"],
    instead: ({ sql }, id) => [
      `select jsonb_build_array(${onlyFinished({ busy: [id] })}) as answer`,
      sql.replace("array['mail'], 5", "null, 0"),
      // Whoever is about to remove the job keeps the refusal from leaving a trace.
      `select jsonb_build_array(${onlyFinished({ refused: [id] })}) as answer`,
      `select jsonb_set(a.answer, '{0}', ${onlyFinished({ refused: [id] })}) as answer from (${sql.replace(
        /array\[.*?null, array/,
        "'{}', '{}', null, null, array",
      )}) a`,
    ],
    again: "another",
  },
  {
    reason: "a claim takes what nobody else is about to take",
    functions: ["claim", "claim_job", "claim_alerts"],
    instead: () => answer([]),
    again: "answer and rows",
  },
  {
    reason: "whoever holds a row is alive: a recovery leaves the job for its next turn",
    functions: ["worker_recover"],
    instead: () => answer(0),
    again: "answer and rows",
  },
  {
    reason: "housekeeping waits for nobody: what others hold it deletes the next time",
    functions: ["prune"],
    instead: ({ sql }) =>
      [JOB, LOOK, OTHER, `${JOB} ${LOOK}`, "once", "cache", "once cache"].map(
        (rows) => `select pairs.spared('${rows}', $call$${sql}$call$) as answer`,
      ),
    again: "rows",
  },
  {
    reason: "who only asks for the workers sweeps what nobody holds",
    functions: ["workers"],
    instead: ({ sql }) => [`set transaction read only; ${sql}`],
    again: "answer and rows",
  },
  {
    reason: "an interval is somebody's to take, and whoever holds it takes it",
    functions: ["every"],
    instead: () => answer(false),
    again: "answer and rows",
  },
  {
    reason: "whoever holds the value makes it, and the others ask again",
    functions: ["cache_begin"],
    instead: () => answer({ state: "wait", value: null, token: null, retry_after_ms: 20 }),
    again: "answer and rows",
  },
  {
    reason: "whoever holds an orphan is alive: a reap leaves it, and a reader sees it as it stands",
    functions: ["reap", "status"],
    instead: unexpired,
    again: "answer and rows",
  },
  {
    reason:
      "an enqueue or a retry does not wait for an orphan that somebody holds: its key is taken",
    functions: ["enqueue", "enqueue_many", "retry", "retry_many"],
    instead: ({ sql }) => unexpired({ sql: sql.replace(/,"on_conflict":"\w+"/, "") }),
    again: "another",
  },
  {
    reason: "a cancel that met a held orphan asks its worker to stop; the next reap ends it",
    functions: ["cancel"],
    instead: unexpired,
    again: "another",
  },
  {
    reason: "retry_many waits for no job that was unfinished when it looked: it retries the others",
    functions: ["retry_many"],
    instead: () => [
      `select jsonb_set(a.answer, '{skipped}', '[{"id": "${LOOK}", "outcome": "wrong_status"}]' || (a.answer -> 'skipped')) as answer
       from leasehold.retry_many('{"ids": ["${JOB}"]}') a (answer)`,
    ],
    again: "another",
  },
  {
    reason: "of two who set the same default at once, each wrote it, and each answers so",
    functions: ["define_kind"],
    instead: () => ["select true as answer"],
    again: "another",
  },
];
