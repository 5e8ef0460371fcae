import type { ClientParts } from "./client-parts.ts";
import type { Arguments } from "./database.ts";
import { LeaseholdError } from "./errors.ts";
import type { FunctionName } from "./functions.ts";
import { inTime } from "./in-time.ts";
import type { Chore, Sweeps } from "./sweep.ts";

/** How often each is done in the whole system, at the most. */
const everyMs = { prune: 60_000, reap: 10_000 } as const;

/** A call that is never answered must not keep this process from housekeeping for ever. */
const callWithinMs = 60_000;

/** How many jobs one prune deletes: so many locks are held for a moment. */
const pruneLimit = 1_000;

/** Where there is more to delete, it goes on for so long: beside other work, or while somebody waits. */
const pruneForMs = { beside: 20_000, waiting: 500 } as const;

/**
 * Deletes what is past its time and takes back what dead workers left, in the wake of other work, so
 * that nothing needs a cron for it. A failure is told by the event `error` and does no harm.
 */
export class Housekeeping {
  readonly #sweeps: Sweeps;
  readonly #beside: readonly Chore[];
  readonly #waiting: readonly Chore[];

  /** Where it is not `enabled`, somebody else does it, by a cron say. */
  constructor(
    { database, events, sweeps }: Pick<ClientParts, "database" | "events" | "sweeps">,
    enabled: boolean,
  ) {
    const onError = (error: unknown) => {
      // A transaction keeps the embedded database busy: the next in passing does it.
      if (error instanceof LeaseholdError && error.code === "LH108") return;
      events.emit("error", { error, during: "housekeeping" });
    };
    const call = (name: FunctionName, args: Arguments = {}) =>
      inTime(database.call(name, args), callWithinMs);
    const chore = (name: keyof typeof everyMs, run: () => Promise<unknown>): Chore => ({
      name: `leasehold.${name}`,
      everyMs: everyMs[name],
      run,
      onError,
    });
    const prune = (forMs: number) => async (): Promise<void> => {
      const until = performance.now() + forMs;
      const args = { p_options: { limit: pruneLimit } };
      let deleted = pruneLimit;
      while (deleted >= pruneLimit && performance.now() < until) {
        ({ deleted } = (await call("prune", args)) as { deleted: number });
      }
    };
    const chores = (forMs: number): Chore[] =>
      enabled ? [chore("prune", prune(forMs)), chore("reap", () => call("reap"))] : [];
    this.#sweeps = sweeps;
    this.#beside = chores(pruneForMs.beside);
    this.#waiting = chores(pruneForMs.waiting);
  }

  /** Starts what is due, as far as this process knows; for the traffic of requests. Never throws. */
  nowAndThen(): void {
    for (const chore of this.#beside) this.#sweeps.start(chore);
  }

  /** Asks what is due and does it; for who comes seldom and may be frozen afterwards. Never rejects. */
  async now(): Promise<void> {
    await Promise.all(this.#waiting.map((chore) => this.#sweeps.startNow(chore)));
  }
}
