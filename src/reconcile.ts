import { type Handled, type JobDefinition, ownDefinition } from "./define.ts";
import { invalidArgument } from "./errors.ts";
import type { Job } from "./job.ts";
import type { LedgerAnswer, Settlement, SettlementContext } from "./settlement.ts";

/** The kind of the jobs that find the truth in a ledger elsewhere. */
export const reconcileKind = "leasehold.reconcile";

/** What such a job carries: the job that has ended, and which run of it. */
type Subject = Omit<SettlementContext, "signal">;

/** How soon a look that this client knows no settlement for is anybody's again. */
const othersAfter = "30s";

/**
 * The handler for looks at the ledgers of these definitions; undefined where none has a settlement.
 * What it returns is what SQL's `complete` writes the money by.
 */
export function reconcileHandler(handlers: readonly Handled[]): Handled | undefined {
  const settlements = new Map<string, Settlement>();
  for (const { definition } of handlers) {
    if (definition.settlement !== undefined)
      settlements.set(definition.kind, definition.settlement);
  }
  if (settlements.size === 0) return undefined;
  return {
    definition: ownDefinition(reconcileKind) as JobDefinition,
    run: (job) => look(job as Job<Subject>, settlements),
    // A ledger's 401 or 404 says nothing of the job: each look counts, and the last one is told.
    classify: (_, verdict) =>
      verdict.action === "release" ? verdict : { action: "fail", permanent: false },
  };
}

async function look(
  job: Job<Subject>,
  settlements: ReadonlyMap<string, Settlement>,
): Promise<{ ledger: LedgerAnswer }> {
  const context: SettlementContext = { ...job.payload, signal: job.signal };
  const settlement = settlements.get(context.kind);
  // Another process of the application has it.
  if (settlement === undefined) return job.release({ after: othersAfter, code: "NO_SETTLEMENT" });
  const key = `${context.id}:${context.run}`;
  const ledger = await settlement.lookup(key, context);
  if (ledger !== "none" && ledger !== "charged" && ledger !== "refunded") {
    throw invalidArgument("the answer of lookup", ledger, '"none", "charged" or "refunded"');
  }
  if (ledger !== "charged" || settlement.refund === undefined) return { ledger };
  // Not by a stale look: the one that follows it refunds, or has refunded.
  if (!(await job.extend())) throw job.signal.reason;
  await settlement.refund(key, context);
  return { ledger: "refunded" };
}
