import { inspect } from "node:util";
import { describeError } from "../describe-error.ts";
import { type ExitCode, exitCodes } from "./exit-codes.ts";
import { oneLine } from "./text-width.ts";

/** A failure that this program foresees: what is wrong, and the next step. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly hint: string;
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, problem: string, hint: string, options?: ErrorOptions) {
    super(problem, options);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** A mistake in the command line. */
export function usageError(problem: string, hint: string, options?: ErrorOptions): CliError {
  return new CliError(exitCodes.usage, problem, hint, options);
}

/** A mistake that names an option (or argument), its value and what is accepted. */
export function wrongValue(name: string, value: string, accepted: string): CliError {
  const shown = value.length <= 80 ? value : `${value.slice(0, 77).toWellFormed()}...`;
  return usageError(`${name} is ${JSON.stringify(shown)}.`, `Give ${accepted}.`);
}

/** Codes of leasehold's errors that speak of a value that was given. */
const valueCodes = new Set(["LH002", "LH003", "LH004", "LH103"]);

/** The next step for what operating system, driver and PostgreSQL report, by their code. */
const advice: readonly (readonly [codes: RegExp, step: string])[] = [
  [
    /^(ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|57P03|08\w{3})$/,
    "Check that the database server runs and that the URL (--database-url, DATABASE_URL or POSTGRES_URL) names it.",
  ],
  [/^28/, "Check the user and the password in the URL."],
  [/^3D000$/, "Create that database, or correct its name in the URL."],
  [/^53300$/, "Free a connection, or raise max_connections."],
  [
    /^42501$/,
    "Connect as a role that may do this; `leasehold migrate --role NAME` grants the functions to a role.",
  ],
];

const elsewhere = "--debug, or LEASEHOLD_DEBUG=1, shows where it comes from.";

/** How a failure is told and what the process ends with. Never throws, whatever was thrown. */
export function describeFailure(error: unknown): { text: string; exitCode: ExitCode } {
  if (error instanceof CliError) {
    return { text: lines(error.message, error.hint), exitCode: error.exitCode };
  }
  const { code, message } = describeError(error);
  const hint = ownHint(error);
  if (hint !== undefined) {
    // The message of a LeaseholdError holds its hint, and behind it may stand a cause.
    const problem = message.replace(`. ${hint}`, "");
    // The code of a bad value says no more than its message; the others stand in the docs.
    if (valueCodes.has(code))
      return { text: lines(`${problem}.`, hint), exitCode: exitCodes.usage };
    return { text: lines(`${problem} (${code}).`, hint), exitCode: exitCodes.failed };
  }
  const step = advice.find(([codes]) => codes.test(code))?.[1] ?? elsewhere;
  return { text: lines(message, step), exitCode: exitCodes.failed };
}

/** What `--debug` and LEASEHOLD_DEBUG=1 add: the error with its stack and causes. */
export function debugText(error: unknown): string | undefined {
  const { LEASEHOLD_DEBUG = "" } = process.env;
  const wanted = process.argv.includes("--debug") || !["", "0"].includes(LEASEHOLD_DEBUG);
  return wanted ? inspect(error, { depth: 5 }) : undefined;
}

/** By shape, so that the errors of another copy of the package count as well. */
function ownHint(error: unknown): string | undefined {
  const { code, hint } = (error ?? {}) as { code?: unknown; hint?: unknown };
  const known = typeof code === "string" && /^LH\d{3}$/.test(code);
  return known && typeof hint === "string" && hint !== "" ? hint : undefined;
}

function lines(problem: string, hint: string): string {
  return `leasehold: ${oneLine(problem)}\n${oneLine(hint)}`;
}
