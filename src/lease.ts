import type { LeaseWheel } from "./lease-wheel.ts";

/** What extend answers. */
export interface Extension {
  held: boolean;
  cancel_requested: boolean;
  busy: boolean;
}

/** The claim whose lease is kept, and who is told of what becomes of it. */
export interface LeaseOptions {
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
  /** Takes the word of another that the claim is not valid any more. */
  lose(): void;
  /** Ends the renewing for good, as `pause` does. */
  stop(): Promise<void>;
}

/** Shared: most leases end before their first renewal, and need no promise of their own. */
const nothing = Promise.resolve();

/**
 * A lease on the wheel. It is renewed every third of its length, so that two renewals may fail
 * before anyone else can take the job. A failed renewal is tried again sooner, and goes on being
 * tried after the lease ran out: the clock does not decide whether the claim is valid, the database
 * does.
 */
export class KeptLease implements Lease {
  readonly options: LeaseOptions;
  /** When it is to be renewed, by `performance.now()`; Infinity while it is not to be. */
  dueAt: number;
  /** How much earlier it may be renewed to share the call of another. */
  readonly slackMs: number;
  readonly #wheel: LeaseWheel;
  readonly #everyMs: number;
  readonly #againMs: number;
  #state: "renewing" | "paused" | "ended" = "renewing";
  // One extend at a time: of two that cross, the later one's answer could come first.
  #last: Promise<void> = nothing;

  constructor(options: LeaseOptions, wheel: LeaseWheel) {
    this.options = options;
    this.#wheel = wheel;
    this.#everyMs = Math.max(Math.floor(options.leaseMs / 3), 1);
    this.#againMs = Math.max(Math.min(Math.floor(options.leaseMs / 10), 5_000), 1);
    this.slackMs = Math.min(this.#everyMs / 4, 1_000);
    this.dueAt = performance.now() + this.#everyMs;
  }

  async extend(progress?: unknown): Promise<boolean> {
    try {
      return (await this.#inTurn(() => this.#ask(progress))).held;
    } catch (error) {
      this.#renewIn(this.#againMs);
      throw error;
    }
  }

  async pause(): Promise<void> {
    if (this.#state === "renewing") await this.#halt("paused");
  }

  async resume(): Promise<void> {
    if (this.#state !== "paused") return;
    this.#state = "renewing";
    await this.renewBy(() => this.#wheel.extend(this));
  }

  lose(): void {
    this.dueAt = Number.POSITIVE_INFINITY;
    this.options.onLost();
  }

  stop(): Promise<void> {
    this.#wheel.forget(this);
    return this.#halt("ended");
  }

  /** A renewal of its own accord, by a call that may serve others too. Never rejects. */
  async renewBy(ask: () => Promise<Extension>): Promise<void> {
    try {
      await this.#inTurn(async () => this.#heard(await ask()));
    } catch (error) {
      this.options.onError(error);
      this.#renewIn(this.#againMs);
    }
  }

  #halt(next: "paused" | "ended"): Promise<void> {
    this.#state = next;
    this.dueAt = Number.POSITIVE_INFINITY;
    return this.#last;
  }

  #inTurn(ask: () => Promise<Extension>): Promise<Extension> {
    this.dueAt = Number.POSITIVE_INFINITY;
    const asked = this.#last.then(ask);
    this.#last = asked.then(ignore, ignore);
    return asked;
  }

  async #ask(progress: unknown): Promise<Extension> {
    // A handler that was given up may run on; it must not hold the job for ever.
    if (this.#state === "ended") return { held: false, cancel_requested: false, busy: false };
    return this.#heard(await this.#wheel.extend(this, progress));
  }

  #heard(answer: Extension): Extension {
    if (!answer.held) {
      this.lose();
      return answer;
    }
    if (answer.cancel_requested) this.options.onCancel();
    this.#renewIn(answer.busy ? this.#againMs : this.#everyMs);
    return answer;
  }

  #renewIn(ms: number): void {
    if (this.#state !== "renewing") return;
    this.dueAt = performance.now() + ms;
    this.#wheel.turnAt(this.dueAt);
  }
}

function ignore(): void {}
