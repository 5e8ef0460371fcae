import type { ClientParts } from "./client-parts.ts";
import { briefly } from "./describe-error.ts";
import type { LeaseholdEvents } from "./job-event.ts";

type During = LeaseholdEvents["error"]["during"];

/**
 * The database's being away, told once however many calls fail until one is answered again: a
 * worker that asks every second must not fill the log of those who have the trouble already.
 */
export class Outage {
  readonly #parts: Pick<ClientParts, "events" | "log">;
  #error: unknown;
  /** What fails at present: beats may be answered while no claim is, and must not hide that. */
  readonly #failing = new Set<During>();

  constructor(parts: Pick<ClientParts, "events" | "log">) {
    this.#parts = parts;
  }

  /** What the database failed with; undefined while it answers. */
  get error(): string | undefined {
    return this.#failing.size > 0 ? briefly(this.#error).message : undefined;
  }

  failed(error: unknown, during: During): void {
    this.#error = error;
    const told = this.#failing.size > 0;
    this.#failing.add(during);
    if (told) return;
    const { events, log } = this.#parts;
    log.warn({ err: briefly(error), during }, "the database can't be asked; trying again");
    events.emit("error", { error, during });
  }

  answered(during: During): void {
    if (!this.#failing.delete(during) || this.#failing.size > 0) return;
    this.#parts.log.info({}, "the database answers again");
  }
}
