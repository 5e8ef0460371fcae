import type { Database } from "./database.ts";
import { creditsNumber } from "./define.ts";
import { invalidArgument } from "./errors.ts";
import { integer, knownOptions, text } from "./options.ts";
import { camelCase } from "./status.ts";
import { isJobId } from "./text-forms.ts";

/** What an account may spend, and what its unfinished jobs hold. */
export interface Credits {
  readonly account: string;
  readonly available: number;
  readonly held: number;
}

export interface GrantAnswer {
  /** duplicate: granted before under this reference. refused: the account would pass 2^53 - 1. */
  readonly outcome: "granted" | "duplicate" | "refused";
  readonly available: number;
}

export interface RefundAnswer {
  /** duplicate: refunded before under this reference. refused: more than was captured, or nothing was. */
  readonly outcome: "refunded" | "duplicate" | "refused";
  /** Null where the job never cost anything. */
  readonly available: number | null;
}

/** One change of an account's credits. Times are ISO 8601 in UTC. */
export interface Entry {
  readonly id: number;
  readonly at: string;
  readonly kind: "grant" | "hold" | "capture" | "give_back" | "refund";
  readonly availableDelta: number;
  readonly heldDelta: number;
  readonly jobId: string | null;
  /** The caller's name for a grant or refund. */
  readonly reference: string | null;
}

export interface EntriesPage {
  /** The newest first. */
  readonly entries: readonly Entry[];
  /** What to pass as `before` for the page that follows; null: there is none. */
  readonly next: number | null;
}

export interface PageOptions {
  /** 1 to 1,000. Default 100. */
  limit?: number;
  /** `next` of the page before. */
  before?: number;
}

/** Whether the books balance; the rules stand with the SQL function verify_credits. */
export interface CreditsCheck {
  readonly ok: boolean;
  readonly violations: readonly Violation[];
}

interface Violation {
  readonly rule: string;
  readonly account: string | null;
  readonly jobId: string | null;
  readonly detail: unknown;
}

export async function grantCredits(
  database: Database,
  account: string,
  amount: number,
  reference: string,
): Promise<GrantAnswer> {
  return (await database.call("grant_credits", {
    p_account: text("account", account, { maxBytes: 500 }),
    p_amount: creditsNumber("amount", amount, 1),
    p_reference: text("reference", reference, { maxBytes: 500 }),
  })) as GrantAnswer;
}

export async function refund(
  database: Database,
  jobId: string,
  amount: number,
  reference: string,
): Promise<RefundAnswer> {
  if (typeof jobId !== "string") throw invalidArgument("jobId", jobId, "the id of a job, as text");
  const args = {
    p_amount: creditsNumber("amount", amount, 1),
    p_reference: text("reference", reference, { maxBytes: 500 }),
  };
  // What is no id is the id of no job.
  if (!isJobId(jobId)) return { outcome: "refused", available: null };
  return (await database.call("refund", { p_job_id: jobId, ...args })) as RefundAnswer;
}

export async function credits(database: Database, account: string): Promise<Credits> {
  const p_account = text("account", account, { maxBytes: 500 });
  return (await database.call("credits", { p_account })) as Credits;
}

export async function entries(
  database: Database,
  account: string,
  options: PageOptions = {},
): Promise<EntriesPage> {
  const p_account = text("account", account, { maxBytes: 500 });
  const args = { p_account, ...pageArguments("entries", options) };
  const page = (await database.call("entries", args)) as { entries: object[]; next: number | null };
  return { ...page, entries: page.entries.map((row) => camelCase<Entry>(row)) };
}

export async function verifyCredits(database: Database): Promise<CreditsCheck> {
  const check = (await database.call("verify_credits", {})) as {
    ok: boolean;
    violations: object[];
  };
  return { ...check, violations: check.violations.map((row) => camelCase<Violation>(row)) };
}

/** The arguments of a function that answers pages by the ids of their rows. Throws LH002, LH003. */
export function pageArguments(where: string, options: PageOptions) {
  knownOptions(where, options, ["limit", "before"]);
  const { limit = 100, before } = options;
  return {
    p_limit: integer("limit", limit, { min: 1, max: 1_000 }),
    ...(before !== undefined && {
      p_before: integer("before", before, { min: 0, max: Number.MAX_SAFE_INTEGER }),
    }),
  };
}
