import { attempt, causeChain, httpStatus, read } from "./describe-error.ts";

/** What becomes of a job whose handler threw. */
export type Verdict =
  /**
   * The attempt failed. `permanent`: no further attempt. Else it is tried again after
   * `retryAfterMs`, or after the kind's backoff where that is absent.
   */
  | { action: "fail"; permanent: boolean; retryAfterMs?: number }
  /** Not the job's fault: given back for `retryAfterMs`, the attempt not counted. */
  | { action: "release"; retryAfterMs: number; code: string };

/** How long a job rests whose credentials were refused (401, 403): 15 minutes, in milliseconds. */
export const refusedCredentialsMs = 15 * 60_000;

/** The longest wait that an error can ask for: 24 hours, in milliseconds. */
export const maxRetryAfterMs = 24 * 3_600_000;

// The same symbol in every copy of the package, where `instanceof` knows only its own.
const permanent: unique symbol = Symbol.for("leasehold.PermanentError");

/** Thrown by a handler: the job fails now, whatever attempts it has left. */
export class PermanentError extends Error {
  override readonly name: string = "PermanentError";
  /** What `last_error_code` becomes, up to 100 word characters; without it, see `describeError`. */
  readonly code: string | undefined;

  constructor(message: string, options: { code?: string; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = options.code;
  }

  /** On the prototype, so that it does not show when the error is printed. */
  get [permanent](): true {
    return true;
  }
}

/**
 * The default judgement of what a handler threw; never throws itself.
 *
 * The outermost of the error and its causes that says something decides: a PermanentError is
 * permanent; HTTP 401 and 403 release the job, since its credentials are at fault; 408, 425, 429
 * and 5xx are transient; any other 4xx is permanent. Everything else (network, timeouts, database
 * errors, bugs) is transient. A transient error may say when to try again, by its `retryAfterMs`,
 * its `retryAfter` in seconds or a Retry-After header; that is honoured up to 24 hours.
 */
export function classify(thrown: unknown): Verdict {
  for (const error of causeChain(thrown)) {
    if (read(error, permanent) === true) return { action: "fail", permanent: true };
    const status = httpStatus(error);
    if (status === undefined) continue;
    if (status === 401 || status === 403) {
      return { action: "release", retryAfterMs: refusedCredentialsMs, code: `HTTP_${status}` };
    }
    if (!isTransient(status)) return { action: "fail", permanent: true };
    break;
  }
  const retryAfterMs = retryAfter(thrown);
  const verdict = { action: "fail", permanent: false } as const;
  return retryAfterMs === undefined ? verdict : { ...verdict, retryAfterMs };
}

function isTransient(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}

/**
 * When the error or one of its causes asks to be tried again, in milliseconds from now, at most 24
 * hours: its `retryAfterMs`, its `retryAfter` (as the header), or the Retry-After header of the
 * error or its response. Undefined where there is none that makes sense.
 */
function retryAfter(thrown: unknown): number | undefined {
  for (const error of causeChain(thrown)) {
    const headers = [read(error, "headers"), read(read(error, "response"), "headers")];
    const found =
      waitMs(read(error, "retryAfterMs")) ??
      headerMs(read(error, "retryAfter"), undefined) ??
      headers
        .map((each) => headerMs(header(each, "retry-after"), header(each, "date")))
        .find(isNumber);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

/** A wait that makes sense: not negative, not NaN, cut to 24 hours. */
function waitMs(ms: unknown): number | undefined {
  if (!isNumber(ms) || !Number.isFinite(ms) || ms < 0) return undefined;
  return Math.min(Math.ceil(ms), maxRetryAfterMs);
}

/**
 * The value of a Retry-After header: seconds, or a date. The date is the server's, so it is
 * compared with the server's own clock where the answer carries it (`sentAt`, its Date header).
 */
function headerMs(value: unknown, sentAt: unknown): number | undefined {
  if (isNumber(value)) return waitMs(value * 1_000);
  if (typeof value !== "string") return undefined;
  const text = value.trim();
  if (/^\d{1,15}(\.\d{1,15})?$/.test(text)) return waitMs(Number(text) * 1_000);
  const until = httpDate(text);
  if (until === undefined) return undefined;
  return waitMs(Math.max(0, until - (httpDate(sentAt) ?? Date.now())));
}

// Date.parse alone would read a date into almost anything: "in 5" is a day in May.
const httpDatePattern = /^[a-z]{3}, \d{1,2} [a-z]{3} \d{4} \d\d:\d\d:\d\d (GMT|UTC)$/i;

function httpDate(value: unknown): number | undefined {
  if (typeof value !== "string" || !httpDatePattern.test(value.trim())) return undefined;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? undefined : ms;
}

/** One header out of Headers, a Map or a plain object, whatever the case of its name. */
function header(headers: unknown, name: string): unknown {
  if (typeof headers !== "object" || headers === null) return undefined;
  return attempt(() => {
    const entries = Symbol.iterator in headers ? headers : Object.entries(headers);
    let left = 1_000; // An iterator of the user's need not end.
    for (const entry of entries as Iterable<unknown>) {
      if (left-- === 0) break;
      if (String(read(entry, 0)).toLowerCase() !== name) continue;
      const value = read(entry, 1);
      return Array.isArray(value) ? value[0] : value; // Node gives lists for repeated headers.
    }
    return undefined;
  });
}
