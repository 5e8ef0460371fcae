/** Headers that every answer has: it is of this moment, for this caller, and is what it says. */
const always = {
  "cache-control": "no-store",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

/** An answer with a text as its body; null for none. */
export function answer(
  status: number,
  body: string | null,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(body, { status, headers: { ...always, ...headers } });
}

export function json(
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return answer(status, JSON.stringify(body), { "content-type": "application/json", ...headers });
}

/** What beside the status, code and message an error answer tells. */
export interface FailureExtras {
  headers?: Readonly<Record<string, string>>;
  /** More fields of `error`. */
  fields?: Readonly<Record<string, unknown>>;
}

/** Thrown by a route to end it with `{error: {code, message}}`. The caller reads the message. */
export class Failure extends Error {
  readonly status: number;
  readonly code: string;
  readonly extras: FailureExtras;

  constructor(status: number, code: string, message: string, extras: FailureExtras = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.extras = extras;
  }

  toResponse(): Response {
    const { code, message, extras } = this;
    return json(this.status, { error: { code, message, ...extras.fields } }, extras.headers);
  }
}

/** The one answer for every id that is not the caller's to see, whatever the reason. */
export function noSuchJob(): Failure {
  return new Failure(404, "NOT_FOUND", "There is no such job.");
}

/** Who asks is not known. */
export function unauthorized(headers: Readonly<Record<string, string>> = {}): Failure {
  return new Failure(401, "UNAUTHORIZED", "Sign in first.", { headers });
}

/** It can't be done now; the caller should try again after `seconds`. */
export function unavailable(message: string, seconds: number): Failure {
  return new Failure(503, "UNAVAILABLE", message, { headers: { "retry-after": `${seconds}` } });
}

/** Responses of another realm, as in a framework's sandbox, are no `instanceof` of ours. */
export function isResponse(value: unknown): value is Response {
  return value instanceof Response || Object.prototype.toString.call(value) === "[object Response]";
}
