import { defaultLeaseMs } from "./attempt.ts";
import { processName } from "./claimant.ts";
import type { ClientParts } from "./client-parts.ts";
import { Crew } from "./crew.ts";
import { isDefinition, type JobDefinition } from "./define.ts";
import { invalidArgument, leaseholdError } from "./errors.ts";
import type { ClaimedJob } from "./job.ts";
import { knownOptions } from "./options.ts";
import { type EnqueueAnswer, type EnqueueOptions, enqueue, enqueueOptionNames } from "./queue.ts";
import { Stopping } from "./stopping.ts";
import { nthWait } from "./waits.ts";

/** How one start differs from its definition: what an enqueue takes, save when and instead of whom. */
export type StartOptions = Omit<EnqueueOptions, "runAfter" | "delay" | "onConflict">;

/** What became of a start: as of an enqueue that replaces nothing. */
export type StartAnswer = Extract<
  EnqueueAnswer,
  { outcome: "created" | "duplicate" | "conflict" | "insufficient" }
>;

/**
 * Runs `task` after the answer was sent and keeps the process alive until it ends. Throws at once
 * where it can't; then nothing was started.
 */
export type KeepAlive = (task: () => Promise<void>) => void;

/** How long an attempt in this process may take where the definition does not say. */
const defaultTimeoutMs = 5 * 60_000;

/** How long jobs in hand may go on after SIGTERM, or after `close`, before they are told to stop. */
const graceMs = 5_000;

/** What is still to be said to the database at the end, it may be away. */
const lastWordMs = 1_000;

/** The waits after a claim that failed, in milliseconds; then pollers end the job by its start_by. */
const claimAgainMs = [100, 500, 2_000, 5_000];

const startOptionNames = enqueueOptionNames.filter(
  (name) => !["runAfter", "delay", "onConflict"].includes(name),
);

/** The jobs that a client starts in its own process. */
export class Starter {
  readonly #parts: ClientParts;
  readonly #keepAlive: KeepAlive | undefined;
  readonly #crew: Crew;
  readonly #tasks = new Set<Promise<void>>();
  readonly #name = processName("start");
  #stopping: Stopping | undefined;
  #stopped = false;

  constructor(parts: ClientParts, keepAlive: KeepAlive | undefined) {
    this.#parts = parts;
    this.#keepAlive = keepAlive;
    this.#crew = new Crew(parts, () => undefined, { defaultTimeoutMs, onShutdown: "fail" });
  }

  /** See `Leasehold.start`. */
  async start(
    definition: JobDefinition,
    payload: unknown,
    options: StartOptions = {},
  ): Promise<StartAnswer> {
    if (!isDefinition(definition)) {
      throw invalidArgument("the job", definition, "what defineJob answered");
    }
    knownOptions("start", options, startOptionNames);
    const call = this.#parts.database.call.bind(this.#parts.database);
    if (definition.startIn === "worker") {
      return (await enqueue(call, definition, payload, options)) as StartAnswer;
    }
    this.#parts.handlerOf(definition.kind);
    if (this.#stopped) throw stopping();
    const { leaseMs = defaultLeaseMs, startWithinMs, maxAttempts, timeoutMs } = definition.settings;
    const enqueued = new Deferred<StartAnswer>();
    // Before anything is written: where the work would be cut off, there must be no job either.
    this.#later(() => this.#run(enqueued.promise, timeoutMs ?? defaultTimeoutMs));
    try {
      await this.#parts.defineKinds();
      const answer = await enqueue(call, definition, payload, {
        startWithin: startWithinMs ?? leaseMs,
        maxAttempts: maxAttempts ?? 1,
        ...options,
      });
      enqueued.resolve(answer as StartAnswer);
    } catch (error) {
      enqueued.reject(error);
    }
    return enqueued.promise;
  }

  /**
   * Starts nothing more, lets the jobs in hand end, then ends them; resolves when none is left. Called
   * in one of their handlers, it does not wait for them.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping?.begin("stop", graceMs);
    if (this.#crew.asks()) return;
    const { overdue } = this.#stopping ?? {};
    while (this.#tasks.size > 0) {
      const ended = Promise.all(this.#tasks);
      await Promise.race(
        overdue === undefined ? [ended] : [ended, overdue.then(() => this.#tasks.clear())],
      );
    }
  }

  /** Runs `work` when the caller has its answer, and knows of it until it has ended. */
  #later(work: () => Promise<void>): void {
    const ended = new Deferred<void>();
    const task = async (): Promise<void> => {
      await work().finally(() => ended.resolve());
    };
    if (this.#keepAlive !== undefined) this.#keepAlive(task);
    else if (globalThis.process?.env.VERCEL) throw noKeepAlive();
    else setTimeout(() => void task(), 0);
    this.#tasks.add(ended.promise);
    this.#stopping ??= this.#watch();
    void ended.promise.then(() => {
      this.#tasks.delete(ended.promise);
      if (this.#tasks.size > 0) return;
      this.#stopping?.end();
      this.#stopping = undefined;
    });
  }

  /** While there is work, a signal that ends the process is ours too. */
  #watch(): Stopping {
    return new Stopping(
      { signals: true, graceMs },
      {
        onStop: () => {
          this.#stopped = true;
        },
        onGraceOver: () => this.#crew.abort(lastWordMs),
      },
    );
  }

  /** Never rejects. */
  async #run(enqueued: Promise<StartAnswer>, timeoutMs: number): Promise<void> {
    const answer = await enqueued.catch(() => undefined); // the caller was told
    if (answer?.outcome !== "created") return;
    const claimed = await this.#claim(answer.id, timeoutMs);
    if (claimed === undefined) return;
    const ended = this.#crew.begin(claimed);
    // The handler need not begin, but the job must not wait for its start_by.
    if (this.#stopped) this.#crew.abort(lastWordMs);
    await ended;
  }

  /** The job, claimed; undefined where somebody else has it, or the database can't be asked. */
  async #claim(id: string, timeoutMs: number): Promise<ClaimedJob | undefined> {
    const args = { p_id: id, p_worker: this.#name, p_timeout_ms: timeoutMs };
    for (let i = 0; ; i += 1) {
      try {
        return ((await this.#parts.database.call("claim_job", args)) as ClaimedJob[])[0];
      } catch (error) {
        this.#parts.events.emit("error", { error, during: "claim", id });
        if (i >= claimAgainMs.length || this.#stopped) return undefined;
        await new Promise((resolve) => setTimeout(resolve, nthWait(claimAgainMs, i)));
      }
    }
  }
}

/** A promise with its ends in hand; Node 20 has no Promise.withResolvers. */
class Deferred<T> {
  resolve!: (value: T) => void;
  reject!: (reason: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

function noKeepAlive(): Error {
  return leaseholdError(
    "LH109",
    "On Vercel the function is frozen once it has answered, and the work with it",
    'Make the client with createLeasehold of leasehold/next, pass `keepAlive`, or set startIn: "worker".',
  );
}

function stopping(): Error {
  return leaseholdError(
    "LH109",
    "This process is stopping, so it starts no more jobs",
    "Try again: another process will take it.",
  );
}
