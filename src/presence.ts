import { Alarm } from "./alarm.ts";
import type { ClientParts } from "./client-parts.ts";
import { inTime, settledWithin } from "./in-time.ts";
import { nthWait } from "./waits.ts";
import type { Wakeups } from "./wakeups.ts";

/** What worker_beat answers an idle worker. */
export interface BeatAnswer {
  readonly due: boolean;
  /** Milliseconds until something is; null: nothing waits. */
  readonly next_ms: number | null;
  /** Idle workers that share a kind with this one, itself included. */
  readonly idle_workers: number;
}

export interface PresenceOptions {
  readonly database: ClientParts["database"];
  readonly wakeups: Wakeups;
  /** What the row of `workers` says of this worker for good. */
  readonly identity: {
    readonly name: string;
    readonly kinds: readonly string[];
    readonly concurrency: number;
  };
  /** How long to the next beat, in milliseconds; a little is added, so that workers spread. */
  intervalMs(): number;
  onAnswer(answer: BeatAnswer, idle: boolean): void;
  onError(error: unknown): void;
}

/** A worker that had no slot or had work at each look for so long needs no notifications. */
const busyAfterMs = 250;

const callWithinMs = 30_000;

/** An answer tells of one job; what waits behind it is asked for so long after that one is due. */
const afterDueMs = 1_000;

/** The waits after a beat that failed, in milliseconds; the last one is repeated. */
const againMs = [500, 1_000, 2_000, 5_000];

/**
 * A worker's row in `workers`: it says that the worker is alive and whether it is idle, that is,
 * whether it wants to be told of new jobs. The same call asks what is due, so for an idle worker it
 * is the poll as well, and on the listening connection its keepalive.
 */
export class Presence {
  readonly id = crypto.randomUUID();
  readonly #options: PresenceOptions;
  readonly #alarm = new Alarm();
  #idle = false;
  #toldIdle = false;
  #beatAt = Number.POSITIVE_INFINITY;
  #tellAt = Number.POSITIVE_INFINITY;
  #failures = 0;
  #foundDue = false;
  #stopped = false;
  #kept: Promise<unknown> | undefined;

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  /** The first beat. Rejects where it fails; `start` goes on from there. */
  async begin(): Promise<void> {
    if (this.#stopped) return; // stopped meanwhile: nobody would take the row away again
    const sent = this.#send(this.#options.intervalMs());
    this.#kept = sent.catch(() => undefined);
    await sent;
  }

  start(): void {
    this.#beatAt = nextAt(this.#options.intervalMs());
    this.#kept = this.#keep();
  }

  get idle(): boolean {
    return this.#idle;
  }

  /** Idle is told at once, since only then enqueue notifies; busy when it lasts. */
  set idle(idle: boolean) {
    if (idle === this.#idle) return;
    this.#idle = idle;
    this.#tell();
  }

  /** Beats now. */
  refresh(): void {
    this.#beatAt = 0;
    this.#alarm.ring();
  }

  /** Takes the row away, if the database answers within `patienceMs`. Never rejects. */
  async stop(patienceMs: number): Promise<void> {
    this.#stopped = true;
    this.#alarm.ring();
    const leave = async (): Promise<void> => {
      await this.#kept; // or a beat under way would write the row again
      await this.#options.database.call("worker_stop", { p_id: this.id });
    };
    await settledWithin(leave(), patienceMs);
  }

  /** Plans to tell whether it is idle, where the database was last told otherwise. */
  #tell(): void {
    if (this.#idle === this.#toldIdle) this.#tellAt = Number.POSITIVE_INFINITY;
    else this.#tellAt = performance.now() + (this.#idle ? 0 : busyAfterMs);
    this.#alarm.ring();
  }

  async #keep(): Promise<void> {
    for (;;) {
      await this.#alarm.until(Math.min(this.#beatAt, this.#tellAt));
      if (this.#stopped) return;
      if (performance.now() < Math.min(this.#beatAt, this.#tellAt)) continue;
      await this.#beat();
    }
  }

  async #beat(): Promise<void> {
    const { onAnswer, onError, intervalMs } = this.#options;
    const idle = this.#idle;
    // Once for both: the row must not expire before the next beat.
    const everyMs = intervalMs();
    this.#beatAt = Number.POSITIVE_INFINITY;
    this.#tellAt = Number.POSITIVE_INFINITY;
    try {
      const answer = await this.#send(everyMs);
      this.#failures = 0;
      const waitMs = Math.min(everyMs, this.#behindMs(answer));
      onAnswer(answer, idle);
      this.#beatAt = Math.min(this.#beatAt, nextAt(waitMs));
      if (this.#idle !== idle) this.#tell(); // it changed meanwhile
    } catch (error) {
      const waitMs = nthWait(againMs, this.#failures);
      this.#failures += 1;
      this.#beatAt = performance.now() + waitMs * (1 + Math.random());
      onError(error);
    }
  }

  #behindMs({ due, next_ms }: BeatAnswer): number {
    const still = due && this.#foundDue; // no claim takes it: others hold its row
    this.#foundDue = due;
    if (due) return still ? Number.POSITIVE_INFINITY : afterDueMs;
    return next_ms === null ? Number.POSITIVE_INFINITY : next_ms + afterDueMs;
  }

  async #send(everyMs: number): Promise<BeatAnswer> {
    const { database, wakeups, identity } = this.#options;
    const idle = this.#idle;
    const state = { ...identity, idle, ttl_ms: ttlMs(everyMs) };
    const answer = await this.#sendBy(wakeups, database, state);
    this.#toldIdle = idle;
    return answer as BeatAnswer;
  }

  /** On the listening connection where there is one; else, and where that fails, on any. */
  async #sendBy(
    wakeups: Wakeups,
    database: ClientParts["database"],
    state: object,
  ): Promise<unknown> {
    if (wakeups.listening) {
      try {
        const p_state = { ...state, listening: true };
        return await wakeups.call("worker_beat", { p_id: this.id, p_state });
      } catch {
        // Lost by now, and told by the wakeups. The poll must not wait for a new connection.
      }
    }
    const beat = database.call("worker_beat", { p_id: this.id, p_state: state });
    return inTime(beat, callWithinMs);
  }
}

/** A little later than that, so that workers spread. */
function nextAt(everyMs: number): number {
  return performance.now() + everyMs * (1 + Math.random() * 0.05);
}

/** Three beats may fail before the worker is taken for dead; at most a day, which SQL allows. */
function ttlMs(intervalMs: number): number {
  return Math.min(Math.ceil(3 * intervalMs) + 15_000, 86_400_000);
}
