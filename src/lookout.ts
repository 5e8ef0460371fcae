import { Alarm } from "./alarm.ts";
import { claimedWithin, claimMany, type Exchange, finishAndClaim } from "./claim.ts";
import type { ClientParts } from "./client-parts.ts";
import type { Crew } from "./crew.ts";
import { DueTimes } from "./due-times.ts";
import type { Carry } from "./finish-together.ts";
import { inTime } from "./in-time.ts";
import type { ClaimedJob } from "./job.ts";
import type { Outage } from "./outage.ts";
import { LastPositions } from "./positions.ts";
import { isRefusal, type OutcomeArguments, type StatusOf } from "./record.ts";
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

/**
 * Looks that find nothing follow each other at once so many times, and then one every few milliseconds
 * for all idle workers together, however many notifications come: of several that are told of a job one
 * finds it. Most bursts of work are short, and no job should wait behind an empty look.
 */
const emptyLooks = { atOnce: 20, everyMs: 5 };

/** With more idle workers than this, a notification wakes them one after the other. */
const crowd = 4;

/** How far apart they are woken on average: a job starts as soon, and most find it gone already. */
const apartByMs = 2;

/** The waits after a claim that failed, in milliseconds; the last one is repeated. */
const claimAgainMs = [100, 200, 500, 1_000, 2_000, 5_000];

/** A claim that is answered later is given back. */
const claimWithinMs = 30_000;

/** A claim that was refused beside outcomes is made by itself for so long. */
const apartMs = 60_000;

/**
 * Claims jobs for the free slots of a worker: at once while there is more to do than slots; else when
 * it is told of a job, when one that waits comes due, and a few times soon after it found nothing.
 *
 * While there is more to do, it claims in the calls that hand over the outcomes of its jobs: one round
 * trip, and one commit, frees slots and fills them.
 */
export class Lookout {
  readonly #options: LookoutOptions;
  readonly #alarm = new Alarm();
  readonly #dueTimes = new DueTimes();
  readonly #positions = new LastPositions();
  /** When the last job was claimed, by `performance.now()`. */
  workedAt = performance.now();
  /** How many idle workers wait for the same jobs, as the database last said. */
  idleWorkers = 1;
  #lookAt = 0;
  /** The earliest time for which it was asked to look since the last claim began. */
  #askedFor = Number.POSITIVE_INFINITY;
  /** When the next job was due of which it knew as the last claim began. */
  #nextDueAt = Number.POSITIVE_INFINITY;
  #notBefore = 0;
  /** When the empty looks so far would have been due, had they come one every `everyMs`. */
  #emptyUntil = 0;
  #shortLooks = 0;
  #failures = 0;
  #answerLost = false;
  #stopped = false;
  /** Claims that are not answered yet. */
  #underWay = 0;
  /** Slots that these may fill. */
  #promised = 0;
  /** Jobs in hand whose outcome is under way beside a claim: their slots are promised already. */
  #leaving = 0;
  #apartUntil = 0;

  constructor(options: LookoutOptions) {
    this.#options = options;
  }

  /** Looks and claims until `stop`, and as long as the claims take that are under way by then. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      // What a claim took whose answer was lost is known when no other one is under way.
      const free = this.#answerLost && this.#underWay > 0 ? 0 : this.#free();
      if (free > 0 && performance.now() >= this.#lookAt) await this.#look(free);
      else await this.#alarm.until(free > 0 ? this.#lookAt : Number.POSITIVE_INFINITY);
    }
    while (this.#underWay > 0) await this.#alarm.until(Number.POSITIVE_INFINITY);
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
    const spreadMs = this.idleWorkers > crowd ? this.idleWorkers * apartByMs : 0;
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
    this.#askedFor = Math.min(this.#askedFor, at);
    if (at >= this.#lookAt) return;
    this.#lookAt = at;
    this.#alarm.ring();
  }

  /**
   * What hands over outcomes that free so many slots and claims for these in the same call; undefined
   * where nothing is to be claimed now, or not beside anything else.
   */
  carrierFor(freed: number): Carry | undefined {
    const now = performance.now();
    const apart = this.#stopped || this.#answerLost || now < this.#apartUntil;
    if (apart || now < this.#lookAt) return undefined;
    const slots = this.#free() + freed;
    return slots > 0 ? (outcomes) => this.#exchange(outcomes, slots) : undefined;
  }

  /** Slots that are free, and that no claim under way may fill. */
  #free(): number {
    const { crew, settings } = this.#options;
    return settings.concurrency - (crew.size - this.#leaving) - this.#promised;
  }

  async #exchange(outcomes: readonly OutcomeArguments[], slots: number): Promise<StatusOf> {
    const { database, settings, crew } = this.#options;
    const beganAt = performance.now();
    const after = this.#positions.next(beganAt);
    this.#begin(slots, outcomes.length);
    const asking = finishAndClaim(database, outcomes, { ...settings, limit: slots, after });
    let exchange: Exchange;
    try {
      exchange = await claimedWithin(claimWithinMs, asking, (late) => crew.giveBack(late.claimed));
    } catch (error) {
      if (isRefusal(error)) this.#apartUntil = performance.now() + apartMs;
      else this.#failed(error);
      this.#end(slots, outcomes.length);
      throw error;
    }
    const now = performance.now();
    const { claimed, statusOf } = exchange;
    this.#positions.took(claimed, { slots, fromStart: after === null, ms: now - beganAt, now });
    // What is in hand until its outcome is told leaves its slot in this turn.
    void this.#took(claimed, slots).finally(() => this.#end(slots, outcomes.length));
    return statusOf;
  }

  async #look(free: number): Promise<void> {
    const { crew, database, settings } = this.#options;
    this.#begin(free, 0);
    try {
      if (this.#answerLost) await this.#recover();
      const claiming = claimMany(database, { ...settings, limit: free });
      const claimed = await claimedWithin(claimWithinMs, claiming, (late) => crew.giveBack(late));
      await this.#took(claimed, free);
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#end(free, 0);
    }
  }

  #begin(slots: number, leaving: number): void {
    this.#underWay += 1;
    this.#promised += slots;
    this.#leaving += leaving;
    this.#askedFor = Number.POSITIVE_INFINITY;
    this.#nextDueAt = this.#dueTimes.after(performance.now());
  }

  #end(slots: number, leaving: number): void {
    this.#underWay -= 1;
    this.#promised -= slots;
    this.#leaving -= leaving;
    this.#alarm.ring();
  }

  #failed(error: unknown): void {
    this.#answerLost = true;
    this.#options.outage.failed(error, "claim");
    const waitMs = nthWait(claimAgainMs, this.#failures);
    this.#failures += 1;
    // Whatever notifications come meanwhile.
    this.#notBefore = performance.now() + waitMs;
    this.#lookAt = this.#notBefore;
  }

  /** Begins the jobs of a claim, or gives them back where the worker was stopped meanwhile. */
  async #took(claimed: readonly ClaimedJob[], slots: number): Promise<void> {
    const { crew, outage } = this.#options;
    outage.answered("claim");
    this.#failures = 0;
    if (this.#stopped) return crew.giveBack(claimed);
    for (const job of claimed) crew.begin(job);
    this.#plan(claimed.length, slots);
  }

  /** When to look again, by what this claim found. */
  #plan(found: number, free: number): void {
    const now = performance.now();
    this.#notBefore = found === 0 ? this.#afterEmptyLook(now) : 0;
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
    this.#lookAt = Math.min(this.#nextDueAt, this.#askedFor);
    const againMs = lookAgainMs[this.#shortLooks];
    this.#shortLooks += 1;
    if (againMs !== undefined) this.lookIn(againMs);
    this.#lookAt = Math.max(this.#lookAt, this.#notBefore); // told of a job during this look
  }

  #afterEmptyLook(now: number): number {
    const everyMs = emptyLooks.everyMs * Math.max(this.idleWorkers, 1);
    this.#emptyUntil = Math.max(this.#emptyUntil, now - emptyLooks.atOnce * everyMs) + everyMs;
    return this.#emptyUntil;
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
}
