import { defineJob, type Settlement } from "leasehold";

/** Leases are short, so that much is lost and found again within minutes. */
export const leaseMs = 2_000;

/** What a handler is to do, said by the payload. `tag` names the enqueue. */
export interface Task {
  readonly tag: string;
  /** How long it works before it writes, in milliseconds. */
  readonly ms?: number;
  /** How many attempts throw something transient first. */
  readonly failures?: number;
  /** A way of its kind's own. */
  readonly how?: string;
}

const common = {
  lease: leaseMs,
  timeout: "10s",
  backoff: [200, 500, 1_000],
  maxAttempts: 8,
  startIn: "worker",
} as const;

const settings = {
  /** Writes its effect in job.transaction. The transient ones throw before. */
  write: common,
  /** Writes under guard in a transaction of its own, then returns. */
  guarded: common,
  /** Two steps; the second one's answer is written with the completion. */
  steps: common,
  /** Throws a PermanentError. */
  refuse: common,
  /** Hangs until its timeout. Some ignore the signal, and write when they are long since stale. */
  hang: { ...common, timeout: 2_500, maxAttempts: 2 },
  /** Blocks the event loop for longer than the lease, and then writes its effect. */
  block: { ...common, maxAttempts: 4 },
  /** The same, but returns: its outcome comes while the next claim runs. */
  late: { ...common, maxAttempts: 4 },
  /** Returns what can't be stored, or throws it. */
  rubbish: common,
  /** Writes an object to a storage that fails now and then, at a fixed path. */
  store: { ...common, maxAttempts: 20 },
  /** Costs credits. */
  paid: common,
  /** Gives itself back until its third claim. */
  release: common,
  /** One unfinished job per key; a second one is a conflict. */
  single: common,
  /** The same; a second one replaces the payload of the first, or makes it run again. */
  renew: common,
} as const;

export type Kind = keyof typeof settings | "charge";

/** Those whose effect is written in job.transaction: it is there exactly where they completed. */
export const transactionKinds: readonly Kind[] = [
  ...(["write", "steps", "hang", "block", "paid", "release", "single", "renew"] as const),
];

const define = (kind: Kind) =>
  defineJob<undefined>(kind, settings[kind as keyof typeof settings] as object);

/** Every kind of job of the run. */
export const jobs = Object.fromEntries(
  (Object.keys(settings) as Kind[]).map((kind) => [kind, define(kind)]),
) as Record<keyof typeof settings, ReturnType<typeof define>>;

/**
 * Charges a ledger elsewhere. The timeout is long beside every pause of a worker (frozen, blocked, cut
 * off): what a stale worker charges comes before it, which is when "none" begins to be believed.
 */
export const charging = (settlement: Settlement) =>
  defineJob("charge", { ...common, timeout: "15s", settlement });
