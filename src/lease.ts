import type { Database } from "./database.ts";

/** What extend answers. */
interface Extension {
  held: boolean;
  cancel_requested: boolean;
  busy: boolean;
}

export interface LeaseOptions {
  readonly call: Database["call"];
  readonly id: string;
  readonly generation: number;
  readonly leaseMs: number;
  readonly onLost: () => void;
  readonly onCancel: () => void;
  /** The database could not be asked; the claim may well stand. */
  readonly onError: (error: unknown) => void;
}

/** A claim's lease, renewed while its handler runs. */
export interface Lease {
  /**
   * Renews it now, storing `progress` where given. False: the claim is not valid any more. Rejects
   * when the database can't be asked.
   */
  extend(progress?: unknown): Promise<boolean>;
  /** Ends the renewing and waits for an extend that is under way. */
  stop(): Promise<void>;
  /** Renews again after `stop`. */
  start(): void;
}

/**
 * Renews a lease every third of its length, so that two renewals may fail before anyone else can
 * take the job. A failed renewal is tried again sooner, and goes on being tried after the lease
 * ran out: the clock does not decide whether the claim is valid, the database does.
 */
export function keepLease(options: LeaseOptions): Lease {
  const everyMs = Math.max(Math.floor(options.leaseMs / 3), 1);
  const againMs = Math.max(Math.min(Math.floor(options.leaseMs / 10), 5_000), 1);
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running = true;
  // One extend at a time: of two that cross, the later one's answer could come first.
  let last: Promise<unknown> = Promise.resolve();

  async function ask(progress?: unknown): Promise<boolean> {
    const answer = (await options.call("extend", {
      p_id: options.id,
      p_generation: options.generation,
      p_lease_ms: options.leaseMs,
      ...(progress !== undefined && { p_progress: progress }),
    })) as Extension;
    if (!answer.held) options.onLost();
    else if (answer.cancel_requested) options.onCancel();
    return answer.held;
  }

  function extend(progress?: unknown): Promise<boolean> {
    const asked = last.then(() => ask(progress));
    last = asked.catch(() => undefined);
    return asked;
  }

  function schedule(ms: number): void {
    timer = setTimeout(async () => {
      const next = await extend().then(
        (held) => (held ? everyMs : undefined),
        (error: unknown) => {
          options.onError(error);
          return againMs;
        },
      );
      if (running && next !== undefined) schedule(next);
    }, ms);
  }

  schedule(everyMs);
  return {
    extend,
    async stop() {
      running = false;
      clearTimeout(timer);
      await last;
    },
    start() {
      if (running) return;
      running = true;
      schedule(everyMs);
    },
  };
}
