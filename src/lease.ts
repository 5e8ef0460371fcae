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
   * Renews it now, storing `progress` where given. False: the claim is not valid any more, or the
   * attempt has ended. Rejects when the database can't be asked.
   */
  extend(progress?: unknown): Promise<boolean>;
  /** Stops the renewing for a while, and waits for an extend that is under way. */
  pause(): Promise<void>;
  /** Goes on after `pause`: renews at once, and waits for that. Nothing after `stop`. */
  resume(): Promise<void>;
  /** Ends the renewing for good, as `pause` does. */
  stop(): Promise<void>;
}

/**
 * Renews a lease every third of its length, so that two renewals may fail before anyone else can
 * take the job. A failed renewal is tried again sooner, and goes on being tried after the lease
 * ran out: the clock does not decide whether the claim is valid, the database does.
 */
export function keepLease(options: LeaseOptions): Lease {
  return new KeptLease(options);
}

class KeptLease implements Lease {
  readonly #options: LeaseOptions;
  readonly #everyMs: number;
  readonly #againMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #state: "renewing" | "paused" | "ended" = "renewing";
  // One extend at a time: of two that cross, the later one's answer could come first.
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#everyMs = Math.max(Math.floor(options.leaseMs / 3), 1);
    this.#againMs = Math.max(Math.min(Math.floor(options.leaseMs / 10), 5_000), 1);
    this.#renewIn(this.#everyMs);
  }

  async extend(progress?: unknown): Promise<boolean> {
    return (await this.#inTurn(progress)).held;
  }

  async pause(): Promise<void> {
    if (this.#state === "renewing") await this.#halt("paused");
  }

  async resume(): Promise<void> {
    if (this.#state !== "paused") return;
    this.#state = "renewing";
    await this.#renew();
  }

  stop(): Promise<void> {
    return this.#halt("ended");
  }

  async #halt(next: "paused" | "ended"): Promise<void> {
    this.#state = next;
    clearTimeout(this.#timer);
    await this.#last;
  }

  #renewIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#renew(), ms);
  }

  async #renew(): Promise<void> {
    let nextMs: number | undefined;
    try {
      const { held, busy } = await this.#inTurn();
      if (held) nextMs = busy ? this.#againMs : this.#everyMs;
    } catch (error) {
      this.#options.onError(error);
      nextMs = this.#againMs;
    }
    if (this.#state === "renewing" && nextMs !== undefined) this.#renewIn(nextMs);
  }

  #inTurn(progress?: unknown): Promise<Extension> {
    const asked = this.#last.then(() => this.#ask(progress));
    this.#last = asked.catch(() => undefined);
    return asked;
  }

  async #ask(progress: unknown): Promise<Extension> {
    // A handler that was given up may run on; it must not hold the job for ever.
    if (this.#state === "ended") return { held: false, cancel_requested: false, busy: false };
    const { call, id, generation, leaseMs, onLost, onCancel } = this.#options;
    const answer = (await call("extend", {
      p_id: id,
      p_generation: generation,
      p_lease_ms: leaseMs,
      ...(progress !== undefined && { p_progress: progress }),
    })) as Extension;
    if (!answer.held) onLost();
    else if (answer.cancel_requested) onCancel();
    return answer;
  }
}
