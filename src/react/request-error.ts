/** What a JobRequestError is made of. */
export interface RequestFailure {
  code: string;
  message: string;
  status: number | null;
  retryAfterMs?: number;
  id?: string | null;
  cause?: unknown;
}

/**
 * A request that brought no usable answer.
 *
 * `code` is the server's where it sent one (`NOT_FOUND`, `UNAUTHORIZED`, …). Otherwise `NETWORK`: no
 * answer, or none in time; `BAD_ANSWER`: not what leasehold's routes answer, such as the page of a
 * proxy; `HTTP_502` and the like; `BAD_PAYLOAD`: a payload that is no JSON, never sent.
 */
export class JobRequestError extends Error {
  override readonly name = "JobRequestError";
  readonly code: string;
  /** The HTTP status; null where there was no answer. */
  readonly status: number | null;
  /** Milliseconds for which the server wants to be left alone; 0 where it did not say. */
  readonly retryAfterMs: number;
  /** With `JOB_IN_FLIGHT`, the job in the way where it is the caller's own; else null. */
  readonly id: string | null;

  constructor(failure: RequestFailure) {
    super(failure.message, failure.cause === undefined ? {} : { cause: failure.cause });
    this.code = failure.code;
    this.status = failure.status;
    this.retryAfterMs = failure.retryAfterMs ?? 0;
    this.id = failure.id ?? null;
  }

  /**
   * Whether asking again by itself is of no use: the job is not there (404), or not for this user
   * (401, 403), or the request is wrong. A network that is away, 408, 425, 429 and 5xx pass.
   */
  get isFinal(): boolean {
    if (this.code === "BAD_PAYLOAD") return true;
    const passing = this.status === 408 || this.status === 425 || this.status === 429;
    return this.status !== null && this.status >= 400 && this.status < 500 && !passing;
  }
}

/** The error of an answer that is no success, in the server's words where it has any. */
export function refusal(response: Response, text: string, retryAfterMs: number): JobRequestError {
  const { code, message, id } = errorIn(text);
  return new JobRequestError({
    code: typeof code === "string" ? code : `HTTP_${response.status}`,
    message: typeof message === "string" ? message : `The server answered ${response.status}`,
    status: response.status,
    retryAfterMs,
    id: typeof id === "string" ? id : null,
  });
}

/** The error of an answer that says success but is not what was asked for. */
export function badAnswer(response: Response): JobRequestError {
  return new JobRequestError({
    code: "BAD_ANSWER",
    message: "The server's answer is not one of leasehold's routes: is basePath right?",
    status: response.status,
  });
}

function errorIn(text: string): Record<string, unknown> {
  const error = parsed(text).error;
  return typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
}

/** The JSON object in `text`; empty where it is none. */
export function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
