import { Alarm } from "./alarm.ts";
import { claimedWithin, claimMany } from "./claim.ts";
import type { ClientParts } from "./client-parts.ts";
import type { Crew } from "./crew.ts";
import { DueTimes } from "./due-times.ts";
import { inTime } from "./in-time.ts";
import type { ClaimedJob } from "./job.ts";
import type { Outage } from "./outage.ts";
import { nthWait } from "./waits.ts";
import type { WorkSettings } from "./work-options.ts";

export interface LookoutOptions {
  readonly database: ClientParts["database"];
  readonly settings: Pick<WorkSettings, "kinds" | "worker" | "concurrency">;
  readonly crew: Crew;
  readonly outage: Outage;
  /** It has a free slot and found nothing due, or the contrary. */
  onIdle(idle: boolean): void;
}

/**
 * The looks after one that found less than there were slots for, in milliseconds: a job whose
 * transaction began before the worker was known to be idle is not notified.
 */
const lookAgainMs = [20, 100, 500, 2_000];

/** An empty look is not followed by another one sooner, however many notifications come. */
const betweenEmptyLooksMs = 25;

/** With more idle workers than this, a notification wakes them one after the other. */
const crowd = 4;

/** How far apart they are woken on average: a job starts as soon, and most find it gone already. */
const apartMs = 2;

/** The waits after a claim that failed, in milliseconds; the last one is repeated. */
const claimAgainMs = [100, 200, 500, 1_000, 2_000, 5_000];

/** A claim that is answered later is given back. */
const claimWithinMs = 30_000;

/**
 * Claims jobs for the free slots of a worker: at once while there is more to do than slots; else when
 * it is told of a job, when one that waits comes due, and a few times soon after it found nothing.
 */
export class Lookout {
  readonly #options: LookoutOptions;
  readonly #alarm = new Alarm();
  readonly #dueTimes = new DueTimes();
  /** When the last job was claimed, by `performance.now()`. */
  workedAt = performance.now();
  /** How many idle workers wait for the same jobs, as the database last said. */
  idleWorkers = 1;
  #lookAt = 0;
  #notBefore = 0;
  #shortLooks = 0;
  #failures = 0;
  #answerLost = false;
  #stopped = false;

  constructor(options: LookoutOptions) {
    this.#options = options;
  }

  /** Looks and claims until `stop`, and as long as the claim takes that is under way by then. */
  async run(): Promise<void> {
    const { crew, settings } = this.#options;
    while (!this.#stopped) {
      const free = settings.concurrency - crew.size;
      if (free > 0 && performance.now() >= this.#lookAt) await this.#look(free);
      else await this.#alarm.until(free > 0 ? this.#lookAt : Number.POSITIVE_INFINITY);
    }
    if (this.#answerLost) await this.#recover().catch(() => undefined); // or their leases do
  }

  stop(): void {
    this.#stopped = true;
    this.#alarm.ring();
  }

  /** A slot is free. */
  freed(): void {
    this.#alarm.ring();
  }

  /** A job of this kind is due `delayMs` from now. */
  told(kind: string, delayMs: number): void {
    if (!this.#options.settings.kinds.includes(kind)) return;
    const spreadMs = this.idleWorkers > crowd ? this.idleWorkers * apartMs : 0;
    const inMs = delayMs + Math.random() * spreadMs;
    if (delayMs > 0) this.#dueTimes.add(performance.now() + inMs);
    this.lookIn(inMs);
  }

  /** The next job that waits is due `ms` from now; null: none waits. */
  nextIn(ms: number | null): void {
    this.#dueTimes.next = ms === null ? Number.POSITIVE_INFINITY : performance.now() + ms;
    if (ms !== null) this.lookIn(ms);
  }

  /** Looks after so many milliseconds, if not sooner. */
  lookIn(ms: number): void {
    const at = Math.max(performance.now() + ms, this.#notBefore);
    if (at >= this.#lookAt) return;
    this.#lookAt = at;
    this.#alarm.ring();
  }

  async #look(free: number): Promise<void> {
    const { crew, outage } = this.#options;
    this.#lookAt = this.#dueTimes.after(performance.now());
    let claimed: ClaimedJob[];
    try {
      if (this.#answerLost) await this.#recover();
      claimed = await this.#claim(free);
    } catch (error) {
      this.#answerLost = true;
      outage.failed(error, "claim");
      const waitMs = nthWait(claimAgainMs, this.#failures);
      this.#failures += 1;
      // Whatever notifications come meanwhile.
      this.#notBefore = performance.now() + waitMs;
      this.#lookAt = this.#notBefore;
      return;
    }
    outage.answered("claim");
    this.#failures = 0;
    if (this.#stopped) return crew.giveBack(claimed);
    for (const job of claimed) crew.begin(job);
    this.#plan(claimed.length, free);
  }

  /** When to look again, by what this look found. */
  #plan(found: number, free: number): void {
    const now = performance.now();
    this.#notBefore = found === 0 ? now + betweenEmptyLooksMs : 0;
    if (found > 0) {
      this.workedAt = now;
      this.#shortLooks = 0;
    }
    if (found === free) {
      this.#lookAt = 0; // there may be more; where no slot is free, as soon as one is
      this.#options.onIdle(false);
      return;
    }
    this.#options.onIdle(true);
    const againMs = lookAgainMs[this.#shortLooks];
    this.#shortLooks += 1;
    if (againMs !== undefined) this.lookIn(againMs);
    this.#lookAt = Math.max(this.#lookAt, this.#notBefore); // told of a job during this look
  }

  /**
   * A claim that failed may have been committed, its answer lost on the way. What it took would wait
   * for its lease, and an attempt would be gone; so the worker gives back what it does not know of.
   */
  async #recover(): Promise<void> {
    const { database, settings, crew } = this.#options;
    const { worker: p_worker, kinds: p_kinds } = settings;
    const recovering = database.call("worker_recover", { p_worker, p_kinds, p_known: crew.ids() });
    await inTime(recovering, claimWithinMs);
    this.#answerLost = false;
  }

  #claim(limit: number): Promise<ClaimedJob[]> {
    const { database, settings, crew } = this.#options;
    const claiming = claimMany(database, { ...settings, limit });
    return claimedWithin(claimWithinMs, claiming, (late) => crew.giveBack(late));
  }
}
