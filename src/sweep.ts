import type { ClientParts } from "./client-parts.ts";
import { describeError } from "./describe-error.ts";
import { type Duration, durationMs } from "./duration.ts";
import { invalidArgument } from "./errors.ts";
import { inTime, settledWithin } from "./in-time.ts";
import { text } from "./options.ts";

/** Something that is to happen at most once an interval. */
export interface Chore {
  readonly name: string;
  readonly everyMs: number;
  run(): unknown;
  /** Must not throw. */
  onError(error: unknown): void;
}

/** When the database could not be asked, it is asked again after so long, or an interval. */
const askAgainMs = 10_000;

/** A question that is never answered must not be the last one of this name. */
const askWithinMs = 30_000;

/** What is under way when the client closes may go on for so long. */
const closeWithinMs = 5_000;

/** Names that are remembered; a name is a part of the program, so there are few. */
const maxNames = 1_000;

/**
 * What traffic starts in passing, at most once an interval over all processes (the SQL function
 * `every`). This process asks the database at most once an interval as well, however many requests
 * come.
 */
export class Sweeps {
  readonly #parts: Pick<ClientParts, "database" | "events" | "log">;
  /** When to ask again, by `performance.now()`. */
  readonly #askAt = new Map<string, number>();
  readonly #underWay = new Map<string, Promise<void>>();
  #closed = false;

  constructor(parts: Pick<ClientParts, "database" | "events" | "log">) {
    this.#parts = parts;
  }

  /** See `Leasehold.sweep`. */
  sweep(name: string, every: Duration, run: () => unknown): void {
    text("name", name, { maxBytes: 500 });
    if (name.startsWith("leasehold.")) {
      throw invalidArgument("name", name, 'a name that does not begin with "leasehold."');
    }
    const everyMs = durationMs("every", every, { min: 1 });
    if (typeof run !== "function") throw invalidArgument("run", run, "a function");
    const { events, log } = this.#parts;
    const onError = (error: unknown) => {
      log.error({ err: describeError(error), sweep: name }, "a sweep failed");
      events.emit("error", { error, during: "sweep" });
    };
    this.start({ name, everyMs, run, onError });
  }

  /** Starts what is due, as far as this process knows. Never throws, and waits for nothing. */
  start(chore: Chore): void {
    if (performance.now() >= (this.#askAt.get(chore.name) ?? 0)) void this.startNow(chore);
  }

  /** The same whenever this process last asked. Resolves at its end, and never rejects. */
  async startNow(chore: Chore): Promise<void> {
    const { name, everyMs } = chore;
    if (this.#closed) return;
    const underWay = this.#underWay.get(name);
    if (underWay !== undefined) return underWay;
    if (this.#askAt.size >= maxNames) this.#askAt.clear();
    this.#askAt.set(name, performance.now() + everyMs);
    const run = this.#run(chore);
    this.#underWay.set(name, run);
    await run;
    this.#underWay.delete(name);
  }

  /** Starts nothing more and waits for what is under way, for a while. What fails then is not told. */
  async close(): Promise<void> {
    this.#closed = true;
    await settledWithin(Promise.all(this.#underWay.values()), closeWithinMs);
  }

  async #run({ name, everyMs, run, onError }: Chore): Promise<void> {
    let asked = false;
    try {
      const args = { p_name: name, p_interval_ms: everyMs };
      const due = await inTime(this.#parts.database.call("every", args), askWithinMs);
      asked = true;
      if (due) await run(); // also when closing: the interval is taken, and close waits
    } catch (error) {
      if (!asked) this.#askAt.set(name, performance.now() + Math.min(everyMs, askAgainMs));
      if (!this.#closed) onError(error);
    }
  }
}
