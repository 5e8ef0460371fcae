import type { BatchObservableCallback, Meter } from "@opentelemetry/api";
import type { Database } from "../database.ts";
import { inTime } from "../in-time.ts";
import { destination, system } from "./conventions.ts";

/** What the SQL function `measures` answers. */
interface Measures {
  readonly to: string;
  readonly kinds: readonly KindMeasures[];
}

interface KindMeasures {
  readonly kind: string;
  readonly due: number;
  readonly waiting: number;
  readonly running: number;
  readonly expired: number;
  readonly oldest_due_ms: number | null;
  readonly lease_expiries: number;
  readonly refused_writes: number;
}

const states = ["due", "waiting", "running", "expired"] as const;

const askWithinMs = 10_000;

/**
 * Observes the queue as the database knows it, once each time that metrics are collected: its age, its
 * jobs, and since now the leases that ran out and the writes that were refused, of all processes.
 * Answers how to stop that.
 */
export function observeQueue(meter: Meter, database: Database): () => void {
  const age = meter.createObservableGauge("leasehold.queue.age", {
    unit: "s",
    description: "How long the oldest due job has been waiting; 0 where none is due.",
  });
  const jobs = meter.createObservableUpDownCounter("leasehold.queue.jobs", {
    unit: "{job}",
    description: "Unfinished jobs by state, each counted up to 10,000.",
  });
  const expiries = meter.createObservableCounter("leasehold.lease.expiries", {
    unit: "{lease}",
    description: "Leases that ran out, whose jobs were taken back.",
  });
  const refused = meter.createObservableCounter("leasehold.writes.refused", {
    unit: "{write}",
    description: "Writes of claims that were not valid any more.",
  });
  const totals = new Map<string, { expiries: number; refused: number }>();
  let since = new Date().toISOString();

  const observe: BatchObservableCallback = async (result) => {
    const asked = database.call("measures", { p_since: since });
    const { to, kinds } = (await inTime(asked, askWithinMs)) as Measures;
    since = to;
    for (const measured of kinds) {
      const attributes = { ...system, ...destination([measured.kind]) };
      result.observe(age, (measured.oldest_due_ms ?? 0) / 1_000, attributes);
      for (const state of states) {
        result.observe(jobs, measured[state], { ...attributes, "leasehold.state": state });
      }
      const total = totals.get(measured.kind) ?? { expiries: 0, refused: 0 };
      total.expiries += measured.lease_expiries;
      total.refused += measured.refused_writes;
      totals.set(measured.kind, total);
    }
    // Also of kinds that have nothing to tell just now: a counter does not go away.
    for (const [kind, total] of totals) {
      const attributes = { ...system, ...destination([kind]) };
      result.observe(expiries, total.expiries, attributes);
      result.observe(refused, total.refused, attributes);
    }
  };
  const observed = [age, jobs, expiries, refused];
  meter.addBatchObservableCallback(observe, observed);
  return () => meter.removeBatchObservableCallback(observe, observed);
}
