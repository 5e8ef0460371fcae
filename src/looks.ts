import { Background, type BackgroundOptions } from "./background.ts";
import { claimedWithin, claimMany } from "./claim.ts";
import { processName } from "./claimant.ts";
import type { ClientParts } from "./client-parts.ts";
import { Crew } from "./crew.ts";
import { reconcileKind } from "./reconcile.ts";

/** Looks that one poller takes on; what is left is another's, or a worker's. */
const looksAtOnce = 5;

/** How long the answer to a claim may take; what comes later is given back. */
const claimWithinMs = 30_000;

/** How often pollers ask for looks that are due, at the most. */
const askEveryMs = 1_000;

/**
 * Looks at ledgers elsewhere that pollers start in passing: who waits for the word on its money also
 * brings it, without a worker or a cron.
 */
export class Looks {
  readonly #parts: ClientParts;
  readonly #crew: Crew;
  readonly #background: Background;
  readonly #name = processName("start");
  #askAt = 0;
  #underWay = false;

  constructor(parts: ClientParts, options: BackgroundOptions) {
    this.#parts = parts;
    this.#crew = new Crew(parts, () => undefined);
    this.#background = new Background(options, this.#crew);
  }

  /** Starts what is due, where this client has a settlement. Never throws, and waits for nothing. */
  inPassing(): void {
    const now = performance.now();
    if (this.#underWay || now < this.#askAt || !this.#parts.kinds.includes(reconcileKind)) return;
    this.#askAt = now + askEveryMs;
    this.#underWay = true;
    const done = () => {
      this.#underWay = false;
    };
    // Where it would be cut off, a cron's drain does it.
    this.#background.later(() => this.#look().finally(done)).catch(done);
  }

  /** Starts nothing more, and ends what is in hand. */
  stop(): Promise<void> {
    return this.#background.stop();
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    try {
      const claiming = claimMany(this.#parts.database, {
        kinds: [reconcileKind],
        worker: this.#name,
        limit: looksAtOnce,
      });
      const looks = await claimedWithin(claimWithinMs, claiming, (late) =>
        this.#crew.giveBack(late),
      );
      await Promise.all(looks.map((claimed) => this.#crew.begin(claimed)));
    } catch (error) {
      this.#parts.events.emit("error", { error, during: "claim" });
    }
  }
}
