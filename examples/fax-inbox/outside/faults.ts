/** What goes wrong outside, on purpose. */
export interface Fault {
  readonly at: "mail" | "storage";
  /** A part of the path that it is about, such as the id of a mail. */
  readonly about: string;
  /**
   * An HTTP status; "refused", a key without rights as Supabase Storage says it (400, and 403 in the
   * body); "reset", a connection that breaks; "hang", no answer at all. Of a mail alone: "cut", half of
   * it, and the connection is closed. Of an upload alone: "held", the work done and its answer kept
   * back until `release`.
   */
  readonly how: number | "refused" | "reset" | "hang" | "cut" | "held";
  /** How many requests meet it. Default 1. */
  readonly times?: number;
  readonly retryAfterSeconds?: number;
}

/** The faults that are still to come, in the order in which they were planned. */
export class Faults {
  #planned: { readonly fault: Fault; left: number }[] = [];
  #held = 0;
  #release: () => void = () => undefined;
  #released = Promise.resolve();

  plan(...faults: readonly Fault[]): void {
    for (const fault of faults) this.#planned.push({ fault, left: fault.times ?? 1 });
    if (faults.every(({ how }) => how !== "held")) return;
    this.#released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  /** The fault that this request meets, if any. */
  take(at: Fault["at"], path: string): Fault | undefined {
    const found = this.#planned.find(
      ({ fault, left }) => left > 0 && fault.at === at && path.includes(fault.about),
    );
    if (found === undefined) return undefined;
    found.left -= 1;
    return found.fault;
  }

  /** How many answers are kept back right now. */
  get held(): number {
    return this.#held;
  }

  /** Resolves when the answers that are kept back may go. */
  async whenReleased(): Promise<void> {
    this.#held += 1;
    await this.#released;
    this.#held -= 1;
  }

  release(): void {
    this.#release();
  }

  /** From now on all is well. */
  clear(): void {
    this.#planned = [];
    this.release();
  }
}
