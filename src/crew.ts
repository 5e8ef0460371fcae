import { Attempt } from "./attempt.ts";
import type { ClientParts } from "./client-parts.ts";
import { type FinishedJob, finish } from "./finish.ts";
import { type Carry, finishTogether } from "./finish-together.ts";
import { inTime } from "./in-time.ts";
import { insideOf, runInside } from "./inside.ts";
import type { ClaimedJob } from "./job.ts";
import { jobEvent } from "./job-event.ts";
import type { Finish } from "./record.ts";
import { observedAttempt } from "./telemetry.ts";

/** A handler that was told to stop may take so long. */
const graceMs = 500;

/** What is still to be said to the database at the end, it may be away. */
export const lastWordMs = 1_000;

export interface CrewOptions {
  /** How long one attempt may take where its definition does not say. Default 1 hour. */
  readonly defaultTimeoutMs?: number;
  /** What becomes of a job that does not end before this process. Default: it is released. */
  readonly onShutdown?: "release" | "fail";
  /** What else makes the way of outcomes that free so many slots; see `finishTogether`. */
  carrierFor?(freed: number): Carry | undefined;
}

/** A finish_many that is not answered within this is sent again: it does no harm twice. */
const finishWithinMs = 30_000;

const maxUnrecorded = 1_000;

const tellExtendEveryMs = 10_000;

/** One job in hand. */
interface InHand {
  readonly id: string;
  readonly attempt: Attempt;
  ended: Promise<void>;
  /** Its handler waits for the others to end, as two may that both stop the worker. */
  waits: boolean;
}

/**
 * The jobs that a worker has in hand. Each holds its slot until its outcome was acknowledged, a
 * refusal included: a slot that were free before would let work pile up in front of a database that
 * is away.
 */
export class Crew {
  readonly #parts: ClientParts;
  readonly #onEnd: (job: FinishedJob) => void;
  readonly #options: CrewOptions;
  readonly #send: Finish;
  readonly #attempts = new Set<InHand>();
  /** Jobs whose outcome the database refuses: their leases bring them back, and nobody sooner. */
  readonly #unrecorded = new Set<string>();
  /** Handlers that wait for the others to end, to be told when one more does. */
  readonly #waiting = new Set<() => void>();
  #toldExtendAt = Number.NEGATIVE_INFINITY;
  /** From when on nobody goes on trying to record an outcome, by `performance.now()`. */
  #giveUpAt = Number.POSITIVE_INFINITY;

  constructor(parts: ClientParts, onEnd: (job: FinishedJob) => void, options: CrewOptions = {}) {
    this.#parts = parts;
    this.#onEnd = onEnd;
    this.#options = options;
    const { database } = parts;
    this.#send = finishTogether(
      (name, args) => inTime(database.call(name, args), finishWithinMs),
      options.carrierFor,
    );
  }

  /** How many jobs are in hand. */
  get size(): number {
    return this.#attempts.size;
  }

  /** The ids of the jobs that this worker knows to have claimed. */
  ids(): string[] {
    return [...this.#attempts].map(({ id }) => id).concat([...this.#unrecorded]);
  }

  /** Runs the handler of a claimed job and records what becomes of it; resolves when that is done. */
  begin(claimed: ClaimedJob): Promise<void> {
    const job: InHand = {
      id: claimed.id,
      attempt: this.#attemptOf(claimed),
      ended: Promise.resolve(),
      waits: false,
    };
    this.#attempts.add(job);
    this.#unrecorded.delete(claimed.id);
    job.ended = runInside(job, () => this.#run(job));
    return job.ended;
  }

  #attemptOf(claimed: ClaimedJob): Attempt {
    const { database, leases, log } = this.#parts;
    const { defaultTimeoutMs = 3_600_000, onShutdown = "release" } = this.#options;
    const handled = this.#parts.handlerOf(claimed.kind);
    return new Attempt({
      database,
      leases,
      log,
      claimed,
      handled,
      timeoutMs: handled.definition.settings.timeoutMs ?? defaultTimeoutMs,
      graceMs,
      onShutdown,
      onError: (error) => this.#extendFailed(error, claimed.id),
    });
  }

  #remember(id: string): void {
    this.#unrecorded.add(id);
    const [first] = this.#unrecorded;
    if (first !== undefined && this.#unrecorded.size > maxUnrecorded)
      this.#unrecorded.delete(first);
  }

  /** A database that is away fails the renewals of all jobs, again and again: not each is told. */
  #extendFailed(error: unknown, id: string): void {
    const now = performance.now();
    if (now - this.#toldExtendAt < tellExtendEveryMs) return;
    this.#toldExtendAt = now;
    this.#parts.events.emit("error", { error, during: "extend", id });
  }

  /** Gives jobs back that nobody is to run: they were claimed as the worker stopped. */
  async giveBack(claimed: readonly ClaimedJob[]): Promise<void> {
    await Promise.all(
      claimed.map(
        ({ id, generation }) =>
          this.#send({
            id,
            generation,
            action: "release",
            retry_after_ms: 0,
            error_code: "SHUTDOWN",
          }).catch(() => "lost"), // its lease brings it back
      ),
    );
  }

  /** Tells every handler to stop; what does not end by itself is released. */
  abort(): void {
    this.#giveUpAt = performance.now() + graceMs + lastWordMs;
    for (const { attempt } of this.#attempts) attempt.abort("shutdown");
  }

  /** Whether the code that runs is one of its handlers. */
  asks(): boolean {
    return this.#attempts.has(insideOf() as InHand);
  }

  /**
   * Resolves when no job is in hand; asked by a handler, save those whose handlers ask: they can't
   * end before they have their answer.
   */
  async ended(): Promise<void> {
    const asking = this.asks();
    if (asking) {
      (insideOf() as InHand).waits = true;
      for (const look of this.#waiting) look();
    }
    const others = (): InHand[] =>
      [...this.#attempts].filter((attempt) => !(asking && attempt.waits));
    for (let left = others(); left.length > 0; left = others()) {
      const ended = Promise.all(left.map((attempt) => attempt.ended));
      await (asking ? this.#orOneMoreWaits(ended) : ended);
    }
  }

  /** Resolves with `ended`, or when another handler begins to wait for the end of the others. */
  #orOneMoreWaits(ended: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      void ended.then(look);
    });
  }

  async #run(job: InHand): Promise<void> {
    const { events } = this.#parts;
    const { claimed } = job.attempt;
    const began = performance.now();
    if (events.heard("started")) events.emit("started", jobEvent(claimed));
    const { finished } = await observedAttempt(this.#parts, claimed, async () => {
      const outcome = await job.attempt.run();
      const finished = await finish(this.#parts, claimed, outcome, {
        send: this.#send,
        durationMs: performance.now() - began,
        patient: this.#patient,
      });
      return { finished, outcome };
    });
    this.#attempts.delete(job);
    if (finished.outcome === "unrecorded") this.#remember(finished.id);
    this.#onEnd(finished);
  }

  readonly #patient = (waitMs: number): boolean => performance.now() + waitMs <= this.#giveUpAt;
}
