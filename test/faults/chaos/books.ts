import type { JobState } from "leasehold";
import type { Kind } from "./jobs.ts";

/** An enqueue that was acknowledged: this job must be found, and end. */
export interface Promised {
  readonly tag: string;
  readonly kind: Kind;
  readonly id: string;
  readonly owner: string | null;
  readonly delayMs: number;
  readonly cost: number;
}

/** One enqueue of a key that is renewed, in the order of the calls. */
export interface Renewal {
  readonly tag: string;
  /** Null where the answer was lost. */
  readonly id: string | null;
}

/** What the run was promised, written down when the answer was there: the checks compare it. */
export class Books {
  readonly promised: Promised[] = [];
  /** Tags of enqueues whose answer was lost, and that nobody repeated. */
  readonly unknown: string[] = [];
  /** Tags of enqueues that were refused (a conflict, too few credits): nothing was written. */
  readonly refused: string[] = [];
  readonly renewals = new Map<string, Renewal[]>();
  /** Jobs that somebody may have retried: their end may be taken back. Written before the call. */
  readonly retried = new Set<string>();
  /** Jobs that were made due before their time. */
  readonly hurried = new Set<string>();
  readonly granted = new Map<string, number>();
  /** What was refunded, by account. */
  readonly refunded = new Map<string, number>();
  /** How often each kind of fault happened. */
  readonly faults = new Map<string, number>();
  /** Processes that ended unasked, warnings, answers that went back: what may not be, as it happens. */
  readonly scandals: { readonly check: string; readonly what: string }[] = [];
  /** Failed calls by code: lost connections, most of them. */
  readonly troubles = new Map<string, number>();
  statusAnswers = 0;
  booksInOrder = 0;

  /** A tag that no other enqueue has. */
  tag(actor: string): string {
    this.#tags += 1;
    return `${actor} ${this.#tags}`;
  }
  #tags = 0;

  blame(check: string, what: string): void {
    this.scandals.push({ check, what });
  }
}

/** Adds to what stands under a name. */
export function add<Key>(sums: Map<Key, number>, key: Key, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount);
}

export const isOver = (status: JobState["status"]) => status !== "queued" && status !== "running";
