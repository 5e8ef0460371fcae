import { quoteIdentifier } from "../../database.ts";
import { readableDuration } from "../readable.ts";
import type { Facts, SessionFacts } from "./facts.ts";
import { critical, type Finding, info, warning } from "./finding.ts";

/** A statement that is cut sooner may not come through: a prune of much, an enqueue that waits for a key. */
const leastStatementMs = 10_000;

/** A worker's listening connection speaks twice a minute. */
const leastIdleMs = 60_000;

/** Work under job.transaction may take so long. */
const leastTransactionMs = 60_000;

/** What a role, a database or a URL sets for its connections, and what that does to jobs. */
export function session({ database: { session: set } }: Facts): Finding[] {
  return [...sets(set), ...timeouts(set)];
}

function sets({ role, read_only, isolation, synchronous_commit }: SessionFacts): Finding[] {
  const found: Finding[] = [];
  if (read_only) {
    const text = `Transactions of ${role} are read-only by default: nothing can be enqueued or claimed`;
    found.push(critical("connection", text, reset(role, "default_transaction_read_only")));
  }
  if (isolation !== "read committed") {
    const text = `Transactions of ${role} are ${isolation} by default, where a race is an error (40001)`;
    found.push(warning("connection", text, reset(role, "default_transaction_isolation")));
  }
  if (!synchronous_commit) {
    const text = `synchronous_commit is off for ${role}: a crash of the server loses jobs that were acknowledged`;
    found.push(warning("connection", text, reset(role, "synchronous_commit")));
  }
  return found;
}

function timeouts(set: SessionFacts): Finding[] {
  const found: Finding[] = [];
  const short = (
    name: "statement_timeout" | "idle_session_timeout" | "transaction_timeout",
    leastMs: number,
    consequence: string,
  ): void => {
    const ms = set[`${name}_ms`];
    if (ms === 0 || ms >= leastMs) return;
    const text = `${name} is ${readableDuration(ms)} for ${set.role}: ${consequence}`;
    const fix = `alter role ${quoted(set.role)} set ${name} = '${leastMs / 1_000}s';`;
    found.push(warning("connection", text, fix));
  };
  short("statement_timeout", leastStatementMs, "what has much to do, or to wait for, is cut");
  short("idle_session_timeout", leastIdleMs, "the connections of idle workers are cut");
  short("transaction_timeout", leastTransactionMs, "handlers under job.transaction are cut");
  const idleMs = set.idle_in_transaction_session_timeout_ms;
  if (idleMs > 0 && idleMs < leastStatementMs) {
    const text = `A transaction of ${set.role} that is idle for ${readableDuration(idleMs)} is cut`;
    const fix = "Under job.transaction, do what takes time before the first statement.";
    found.push(info("connection", text, fix));
  }
  return found;
}

/** Connections of the server, and of the role or database where they have a limit of their own. */
export function connections({
  database: {
    server: { connections: used, max_connections: most },
    session: own,
  },
}: Facts): Finding[] {
  const fix = "Use smaller pools (leasehold's own takes four), or a pooler.";
  const found: Finding[] = [];
  if (used >= most * 0.8) {
    found.push(warning("connections", `${used} of ${most} connections are in use`, fix));
  }
  if (own.limit !== null && own.used !== null && own.used >= own.limit * 0.8) {
    const text = `${own.used} of the ${own.limit} connections of ${own.role}, or of its database, are in use`;
    found.push(warning("connections", text, fix));
  }
  return found;
}

function reset(role: string, name: string): string {
  return `alter role ${quoted(role)} reset ${name};  -- or alter database, or the URL that sets it`;
}

function quoted(role: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(role) ? role : quoteIdentifier(role);
}
