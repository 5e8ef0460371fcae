import type { Database } from "./database.ts";
import { inTime } from "./in-time.ts";
import { type Extension, KeptLease, type Lease, type LeaseOptions } from "./lease.ts";

/** Claims in one call of extend_many, at the most. */
const maxTogether = 1_000;

/** How long a renewal may go without an answer: as long as the lease, within these bounds. */
const answerWithinMs = { least: 5_000, most: 30_000 };

/**
 * Renews the leases of all jobs that this process has in hand, with one timer: those that come due
 * about the same time share one call, so that a thousand long jobs cost a few queries a minute.
 */
export class LeaseWheel {
  readonly #call: Database["call"];
  readonly #leases = new Set<KeptLease>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #turnsAt = Number.POSITIVE_INFINITY;

  constructor(call: Database["call"]) {
    this.#call = call;
  }

  /** Keeps the lease of a claim until its `stop`. */
  keep(options: LeaseOptions): Lease {
    const lease = new KeptLease(options, this);
    this.#leases.add(lease);
    this.turnAt(lease.dueAt);
    return lease;
  }

  /** Renews one lease at once. */
  async extend({ options }: KeptLease, progress?: unknown): Promise<Extension> {
    const asking = this.#call("extend", {
      p_id: options.id,
      p_generation: options.generation,
      p_lease_ms: options.leaseMs,
      ...(progress !== undefined && { p_progress: progress }),
    });
    return (await inTime(asking, patienceMs([options]))) as Extension;
  }

  /** Sees to it that the wheel turns by then. */
  turnAt(at: number): void {
    if (at >= this.#turnsAt) return;
    clearTimeout(this.#timer);
    this.#turnsAt = at;
    this.#timer = setTimeout(() => this.#turn(), Math.max(Math.ceil(at - performance.now()), 0));
  }

  forget(lease: KeptLease): void {
    this.#leases.delete(lease);
    if (this.#leases.size > 0) return;
    // An empty wheel must not keep the process alive.
    clearTimeout(this.#timer);
    this.#turnsAt = Number.POSITIVE_INFINITY;
  }

  #turn(): void {
    this.#turnsAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    const due: KeptLease[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const lease of this.#leases) {
      if (lease.dueAt <= now + lease.slackMs) due.push(lease);
      else next = Math.min(next, lease.dueAt);
    }
    for (let i = 0; i < due.length; i += maxTogether) this.#renew(due.slice(i, i + maxTogether));
    if (next < Number.POSITIVE_INFINITY) this.turnAt(next);
  }

  #renew(due: readonly KeptLease[]): void {
    const [only] = due;
    if (due.length === 1 && only !== undefined) {
      void only.renewBy(() => this.extend(only));
      return;
    }
    const answers = this.#extendAll(due);
    answers.catch(() => undefined); // each lease is told, but one may be waiting for its turn
    for (const [i, lease] of due.entries()) {
      void lease.renewBy(async () => (await answers)[i] as Extension);
    }
  }

  async #extendAll(leases: readonly KeptLease[]): Promise<Extension[]> {
    const claims = leases.map(({ options: { id, generation, leaseMs } }) => ({
      id,
      generation,
      lease_ms: leaseMs,
    }));
    const asking = this.#call("extend_many", { p_claims: claims });
    const patience = patienceMs(leases.map(({ options }) => options));
    return (await inTime(asking, patience)) as Extension[];
  }
}

/** One that is never answered counts as failed, and is tried again while the lease may stand. */
function patienceMs(leases: readonly LeaseOptions[]): number {
  const shortest = Math.min(...leases.map(({ leaseMs }) => leaseMs));
  return Math.min(Math.max(shortest, answerWithinMs.least), answerWithinMs.most);
}
