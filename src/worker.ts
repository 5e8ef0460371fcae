import { Alarm } from "./alarm.ts";
import type { ClientParts } from "./client-parts.ts";
import { Crew, lastWordMs } from "./crew.ts";
import { briefly } from "./describe-error.ts";
import type { Duration } from "./duration.ts";
import { LeaseholdError } from "./errors.ts";
import type { FinishedJob } from "./finish.ts";
import { settledWithin } from "./in-time.ts";
import { Lookout } from "./lookout.ts";
import { knownOptions } from "./options.ts";
import { Outage } from "./outage.ts";
import { type BeatAnswer, Presence } from "./presence.ts";
import { Stopping } from "./stopping.ts";
import { nthWait } from "./waits.ts";
import { Wakeups } from "./wakeups.ts";
import { graceMs, type WorkSettings } from "./work-options.ts";
import { Tally, type WorkReport } from "./work-report.ts";

/** A long-running worker, as `work` answers it. */
export interface Worker {
  /** Its row in the table `workers`. */
  readonly id: string;
  /** What its claims are named by. */
  readonly name: string;
  /**
   * Ends it: nothing more is claimed; the jobs in hand go on, their leases renewed, for `grace` (the
   * option of `work`, unless given here); then their signal aborts, and what does not end within half
   * a second is released, the attempt not counted. Always resolves, however often and from wherever
   * it is called; a later call may shorten the grace. Called in a handler, it does not wait for that
   * one. Rejects with LH002 and LH003 for its options.
   */
  stop(options?: { grace?: Duration }): Promise<WorkReport>;
  /**
   * Resolves when it has ended. Rejects with a LeaseholdError where it can't begin for a reason that
   * waiting does not cure: no database is configured, the schema is missing, a definition is wrong.
   */
  readonly ended: Promise<WorkReport>;
  health(): WorkerHealth;
}

/** How a worker is. */
export interface WorkerHealth {
  readonly state: "starting" | "working" | "stopping" | "stopped";
  /** Whether it can take jobs: it is working, and the database answered when it was last asked. */
  readonly ready: boolean;
  /** Whether it hears of new jobs at once; else it polls. */
  readonly listening: boolean;
  /** Jobs in hand. */
  readonly running: number;
  readonly concurrency: number;
  /** Attempts ended so far. */
  readonly processed: number;
  /** Why the database could not be asked, where it was so the last time. */
  readonly error?: string;
}

/** How often a worker that has work says that it is alive. */
const busyBeatMs = 15_000;

/** How often it looks whether finished jobs are to be deleted, at the most. */
const pruneEveryMs = 60_000;

/** The waits after a failed beginning, in milliseconds; the last one is repeated. */
const beginAgainMs = [100, 500, 1_000, 2_000, 5_000];

/** LeaseholdErrors that pass. */
const passing: readonly string[] = ["LH005", "LH108"];

/** Begins to work; see `Leasehold.work`. */
export function startWorker(parts: ClientParts, settings: WorkSettings): Worker {
  return new RunningWorker(parts, settings);
}

class RunningWorker implements Worker {
  readonly name: string;
  readonly ended: Promise<WorkReport>;
  readonly #parts: ClientParts;
  readonly #settings: WorkSettings;
  readonly #crew: Crew;
  readonly #lookout: Lookout;
  readonly #wakeups: Wakeups;
  readonly #presence: Presence;
  readonly #outage: Outage;
  readonly #tally = new Tally();
  readonly #stopping: Stopping;
  /** Rings when it is to stop. A race with `asked` would add to that promise at each wait. */
  readonly #alarm = new Alarm();
  #state: WorkerHealth["state"] = "starting";
  #prunedAt = performance.now();

  constructor(parts: ClientParts, settings: WorkSettings) {
    const { worker: name, kinds, concurrency } = settings;
    const { database } = parts;
    this.name = name;
    this.#parts = parts;
    this.#settings = settings;
    this.#outage = new Outage(parts);
    const onEnd = (job: FinishedJob): void => {
      this.#tally.add(job);
      this.#lookout.freed();
    };
    this.#crew = new Crew(parts, onEnd, {
      carrierFor: (freed) => this.#lookout.carrierFor(freed),
    });
    this.#lookout = new Lookout({
      database,
      settings,
      crew: this.#crew,
      outage: this.#outage,
      onIdle: (idle) => this.#rest(idle),
    });
    this.#wakeups = new Wakeups(parts, {
      onDue: (kind, delayMs) => this.#lookout.told(kind, delayMs),
      onChange: () => this.#presence.refresh(),
    });
    this.#presence = new Presence({
      database,
      wakeups: this.#wakeups,
      identity: { name, kinds, concurrency },
      intervalMs: () => this.#beatMs(),
      onAnswer: (answer, idle) => this.#answered(answer, idle),
      onError: (error) => this.#outage.failed(error, "beat"),
    });
    this.#stopping = new Stopping(settings, {
      onStop: () => {
        this.#state = "stopping";
        this.#lookout.stop();
        this.#alarm.ring();
      },
      onGraceOver: () => this.#crew.abort(),
    });
    this.ended = this.#work();
    this.ended.catch(() => undefined); // the log and the event tell of it as well
  }

  get id(): string {
    return this.#presence.id;
  }

  async stop(options: { grace?: Duration } = {}): Promise<WorkReport> {
    knownOptions("stop", options, ["grace"]);
    this.#stopping.begin(
      "stop",
      options.grace === undefined ? this.#settings.graceMs : graceMs(options.grace),
    );
    if (this.#crew.asks()) await this.#quiet();
    else await this.ended.catch(() => undefined);
    return this.#tally.report(this.#stopping.reason);
  }

  health(): WorkerHealth {
    const { error } = this.#outage;
    return {
      state: this.#state,
      ready: this.#state === "working" && error === undefined,
      listening: this.#wakeups.listening,
      running: this.#crew.size,
      concurrency: this.#settings.concurrency,
      processed: this.#tally.processed,
      ...(error !== undefined && { error }),
    };
  }

  async #work(): Promise<WorkReport> {
    try {
      const working = this.#beginAndLook();
      await Promise.race([working, this.#stopping.asked]);
      // A claim that is under way gives back what it brings; it may also hang.
      await settledWithin(working, lastWordMs);
      await this.#quiet();
    } catch (error) {
      this.#stopping.begin("failed", 0);
      this.#parts.log.error({ err: briefly(error) }, "the worker can't begin");
      this.#parts.events.emit("error", { error, during: "beat" });
      await this.#quiet();
      throw error;
    } finally {
      // A beat under way on the connection that listens would write the row again after all.
      await this.#presence.stop(lastWordMs);
      await settledWithin(this.#wakeups.stop(), lastWordMs);
      this.#state = "stopped";
      this.#stopping.end();
    }
    return this.#tally.report(this.#stopping.reason);
  }

  /** Resolves when no job is in hand any more, or soon after the grace whatever they do. */
  #quiet(): Promise<unknown> {
    return Promise.race([this.#crew.ended(), this.#stopping.overdue]);
  }

  async #beginAndLook(): Promise<void> {
    for (let i = 0; !(await this.#begun()); i += 1) {
      const waitMs = nthWait(beginAgainMs, i);
      await this.#alarm.until(performance.now() + waitMs);
      if (this.#state !== "starting") return;
    }
    if (this.#state !== "starting") return;
    this.#state = "working";
    if (this.#settings.listen) this.#wakeups.start();
    this.#presence.start();
    await this.#lookout.run();
  }

  /** False where the database is away. Rejects where waiting is of no use. */
  async #begun(): Promise<boolean> {
    try {
      await this.#parts.defineKinds();
      await this.#presence.begin();
    } catch (error) {
      if (error instanceof LeaseholdError && !passing.includes(error.code)) throw error;
      this.#outage.failed(error, "beat");
      return false;
    }
    this.#outage.answered("beat");
    return true;
  }

  #beatMs(): number {
    if (!this.#presence.idle) return busyBeatMs;
    const { pollMs, idlePollMs, idleAfterMs } = this.#settings;
    return performance.now() - this.#lookout.workedAt >= idleAfterMs ? idlePollMs : pollMs;
  }

  #answered({ due, next_ms, idle_workers }: BeatAnswer, idle: boolean): void {
    this.#outage.answered("beat");
    this.#parts.alerts.inPassing();
    if (!idle) return;
    this.#lookout.idleWorkers = idle_workers;
    if (due) this.#lookout.lookIn(0);
    else this.#lookout.nextIn(next_ms);
  }

  /** Goes idle, or back to work. In the wake of work old jobs are deleted. */
  #rest(idle: boolean): void {
    this.#presence.idle = idle;
    const now = performance.now();
    if (this.#lookout.workedAt < this.#prunedAt || now < this.#prunedAt + pruneEveryMs) return;
    this.#prunedAt = now;
    this.#parts.housekeeping.nowAndThen();
  }
}
