import type { CancelAnswer } from "../status.ts";
import { type Connection, defaultConnection } from "./connection.ts";
import type { JobView } from "./job-view.ts";
import { badAnswer, JobRequestError, parsed, refusal } from "./request-error.ts";
import { send } from "./send.ts";

/** Which connection to use; by default that of the provider, and outside of hooks the default one. */
export interface ConnectionOption {
  connection?: Connection;
}

/** How one start is done. */
export interface StartOptions {
  /**
   * A name under which this user starts jobs of this kind only once, sent as Idempotency-Key: what is
   * sent again, because no answer came, starts nothing more and answers the first job's id.
   */
  once?: string;
}

/** What a start came to. */
export type StartAnswer =
  | {
      readonly outcome: "started";
      readonly id: string;
      /** This user had used the same `once` before: `id` is the first one's job. */
      readonly isDuplicate: boolean;
    }
  /** An unfinished job is in the way; its id where it is the caller's own, else null. */
  | { readonly outcome: "in_flight"; readonly id: string | null }
  /** Not enough credits. */
  | { readonly outcome: "insufficient" };

/** A job as it was answered, with what the next request for it needs. */
export interface Answer {
  readonly job: JobView;
  readonly text: string;
  readonly etag: string | null;
  readonly retryAfterMs: number;
}

/**
 * Asks for a job. `previous` is the last answer: where nothing has changed since, its `job` comes back
 * as the same object. Rejects with a JobRequestError, or with the signal's reason.
 */
export async function fetchJob(
  connection: Connection,
  id: string,
  previous: Answer | null,
  signal?: AbortSignal,
): Promise<Answer> {
  const headers = previous?.etag ? { "if-none-match": previous.etag } : {};
  const init = { headers, cache: "no-store" } as const;
  const { response, text, pause } = await send(connection, jobPath(id), init, signal);
  const etag = response.headers.get("etag");
  if (previous !== null && (response.status === 304 || (response.ok && text === previous.text))) {
    return { ...previous, etag: etag ?? previous.etag, retryAfterMs: pause };
  }
  if (!response.ok && response.status !== 304) throw refusal(response, text, pause);
  const job = parsed(text);
  if (typeof job.id !== "string" || typeof job.status !== "string") throw badAnswer(response);
  return { job: job as unknown as JobView, text, etag, retryAfterMs: pause };
}

/**
 * Starts a job of `kind` with `payload` (any JSON; none is `{}`). For mutations of other libraries;
 * `useStartJob` does it for a component.
 *
 * Rejects with a JobRequestError: status 400 for a payload that the job's schema refuses, 401, 403,
 * 404 for a kind that can't be started over HTTP, 413; code `NETWORK` where it is not known whether
 * the job was started.
 */
export async function startJob(
  kind: string,
  payload: unknown = {},
  { connection = defaultConnection, once }: ConnectionOption & StartOptions = {},
): Promise<StartAnswer> {
  const key = once === undefined ? {} : { "idempotency-key": once };
  const { response, text, pause } = await send(connection, jobPath(kind), {
    method: "POST",
    headers: { "content-type": "application/json", ...key },
    body: json(payload),
  });
  if (response.status === 402) return { outcome: "insufficient" };
  if (!response.ok) {
    const error = refusal(response, text, pause);
    if (error.code === "JOB_IN_FLIGHT") return { outcome: "in_flight", id: error.id };
    throw error;
  }
  const { id } = parsed(text);
  if (typeof id !== "string") throw badAnswer(response);
  return { outcome: "started", id, isDuplicate: response.status === 200 };
}

/**
 * Cancels a queued job, and asks a running one to stop (`requested`). `finished`: it had ended.
 * `unknown`: no such job, or another's. Rejects with a JobRequestError for anything else.
 */
export async function cancelJob(
  id: string,
  { connection = defaultConnection }: ConnectionOption = {},
): Promise<CancelAnswer> {
  const { response, text, pause } = await send(connection, `${jobPath(id)}/cancel`, {
    method: "POST",
  });
  if (response.status === 404) return { outcome: "unknown", status: null };
  if (!response.ok) throw refusal(response, text, pause);
  const answer = parsed(text);
  if (typeof answer.outcome !== "string") throw badAnswer(response);
  return answer as unknown as CancelAnswer;
}

function jobPath(idOrKind: string): string {
  return `/jobs/${encodeURIComponent(idOrKind)}`;
}

function json(payload: unknown): string {
  try {
    const text: unknown = JSON.stringify(payload);
    if (typeof text === "string") return text;
    throw new TypeError(`a ${typeof payload} can't be sent`);
  } catch (cause) {
    const message = `The payload is no JSON: ${String(cause)}`;
    throw new JobRequestError({ code: "BAD_PAYLOAD", message, status: null, cause });
  }
}
