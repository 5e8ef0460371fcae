/**
 * The one table of leasehold's error codes and their classes.
 *
 * A lost race is a value, never an exception; what is thrown here is a mistake or a missing thing,
 * and every error says in its `hint` what to do next. LH0xx is raised by the SQL functions (as
 * SQLSTATE) and rethrown by the client under the same code; LH1xx is raised by the client alone.
 * Each code is an anchor in docs/errors.md.
 */
export const errorCodes = {
  LH001: "the lease is lost: another claim owns the job now, or it has ended",
  LH002: "an argument is wrong",
  LH003: "an option is not known",
  LH004: "a value is too large",
  LH005: "the key stayed contended: ten tries met a holder that vanished each time",
  LH006: "the schema in the database is newer than this version of leasehold",
  LH007: "the schema is missing, or older than this version of leasehold",
  LH101: "no database is configured",
  LH102: "the embedded database is owned by another process",
  LH103: "a payload is not valid",
  LH104: "this database has no such capability",
  LH105: "no handler is registered",
  LH106: "an optional package is not installed",
  LH107: "the database handle or tx is not one that leasehold knows",
  LH108: "the one session of the embedded database is busy with a transaction",
  LH109: "a job can't be started in this process: it would be cut off",
  LH110: "Supabase's Data API does not serve the schema",
  LH111: "the key of the Supabase client is not one that may call leasehold",
} as const;

export type ErrorCode = keyof typeof errorCodes;

/** Every error that leasehold throws on purpose. `code` is stable; `hint` is the next step. */
export class LeaseholdError extends Error {
  override readonly name: string = "LeaseholdError";
  readonly code: ErrorCode;
  readonly hint: string;

  constructor(code: ErrorCode, problem: string, hint: string, options?: ErrorOptions) {
    super(hint === "" ? problem : `${problem}. ${hint}`, options);
    this.code = code;
    this.hint = hint;
  }
}

/** LH001. The claim is not valid any more: stop, and let the result go. */
export class LeaseLostError extends LeaseholdError {
  override readonly name = "LeaseLostError";
}

/** LH002, LH003, LH004. An argument or option is refused; the message names it and its value. */
export class InvalidArgumentError extends LeaseholdError {
  override readonly name = "InvalidArgumentError";
}

/** LH103. A payload that its schema refuses, or that can't be stored as JSON; names the path. */
export class InvalidPayloadError extends LeaseholdError {
  override readonly name = "InvalidPayloadError";
}

/** LH006, LH007, LH110. The schema and this version of leasehold do not fit, or it can't be reached. */
export class SchemaError extends LeaseholdError {
  override readonly name = "SchemaError";
}

/** LH101, LH102, LH104, LH106, LH107, LH108, LH111. The database can't be used, or not in this way. */
export class DatabaseError extends LeaseholdError {
  override readonly name = "DatabaseError";
}

const classes: Partial<Record<ErrorCode, typeof LeaseholdError>> = {
  LH001: LeaseLostError,
  LH002: InvalidArgumentError,
  LH003: InvalidArgumentError,
  LH004: InvalidArgumentError,
  LH006: SchemaError,
  LH007: SchemaError,
  LH101: DatabaseError,
  LH102: DatabaseError,
  LH103: InvalidPayloadError,
  LH104: DatabaseError,
  LH106: DatabaseError,
  LH107: DatabaseError,
  LH108: DatabaseError,
  LH110: SchemaError,
  LH111: DatabaseError,
};

/** Makes the error of the class that belongs to `code`. */
export function leaseholdError(
  code: ErrorCode,
  problem: string,
  hint: string,
  options?: ErrorOptions,
): LeaseholdError {
  return new (classes[code] ?? LeaseholdError)(code, problem, hint, options);
}

/** LH002 for an option or argument: what was given, what is accepted. */
export function invalidArgument(name: string, value: unknown, accepted: string): LeaseholdError {
  return leaseholdError("LH002", `${name} is ${show(value)}`, `Give ${accepted}.`);
}

/** A short, safe rendering of any value for an error message: never throws, never long. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shorten(value));
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return shorten(JSON.stringify(value) ?? "an object");
  } catch {
    return "an object";
  }
}

function shorten(text: string): string {
  return text.length <= 80 ? text : `${text.slice(0, 77).toWellFormed()}...`;
}

/** LH001 as the client finds it out; `done` says what became of what was under way. */
export function leaseLost(claim: { id: string; generation: number }, done: string): LeaseholdError {
  return leaseholdError(
    "LH001",
    `The claim on job ${claim.id} under generation ${claim.generation} is not valid any more`,
    `Stop working on this job; ${done}.`,
  );
}
