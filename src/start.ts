import { defaultLeaseMs } from "./attempt.ts";
import { Background, type BackgroundOptions, Deferred } from "./background.ts";
import { claimJob } from "./claim.ts";
import { processName } from "./claimant.ts";
import type { ClientParts } from "./client-parts.ts";
import { Crew } from "./crew.ts";
import { isDefinition, type JobDefinition } from "./define.ts";
import { invalidArgument } from "./errors.ts";
import type { ClaimedJob } from "./job.ts";
import { knownOptions } from "./options.ts";
import { type EnqueueAnswer, type EnqueueOptions, enqueue, enqueueOptionNames } from "./queue.ts";
import { nthWait } from "./waits.ts";

/** How one start differs from its definition: what an enqueue takes, save when and instead of whom. */
export type StartOptions = Omit<EnqueueOptions, "runAfter" | "delay" | "onConflict">;

/** What became of a start: as of an enqueue that replaces nothing. */
export type StartAnswer = Extract<
  EnqueueAnswer,
  { outcome: "created" | "duplicate" | "conflict" | "insufficient" }
>;

/** How long an attempt in this process may take where the definition does not say. */
const defaultTimeoutMs = 5 * 60_000;

/** The waits after a claim that failed, in milliseconds; then pollers end the job by its start_by. */
const claimAgainMs = [100, 500, 2_000, 5_000];

const startOptionNames = enqueueOptionNames.filter(
  (name) => !["runAfter", "delay", "onConflict"].includes(name),
);

/** Starts jobs in the process of their client. */
export class Starter {
  readonly #parts: ClientParts;
  readonly #crew: Crew;
  readonly #background: Background;
  readonly #name = processName("start");

  constructor(parts: ClientParts, options: BackgroundOptions) {
    this.#parts = parts;
    // Nobody else would start such a job again: it fails with its process.
    this.#crew = new Crew(parts, () => undefined, { defaultTimeoutMs, onShutdown: "fail" });
    this.#background = new Background(options, this.#crew);
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
    if (definition.startIn === "worker") return this.#enqueue(definition, payload, options);
    this.#parts.handlerOf(definition.kind);
    const { leaseMs = defaultLeaseMs, startWithinMs, maxAttempts, timeoutMs } = definition.settings;
    const enqueued = new Deferred<StartAnswer>();
    // Before anything is written: where the work would be cut off, there must be no job either.
    await this.#background.later(() => this.#run(enqueued.promise, timeoutMs ?? defaultTimeoutMs));
    try {
      await this.#parts.defineKinds();
      const answer = await this.#enqueue(definition, payload, {
        startWithin: startWithinMs ?? leaseMs,
        maxAttempts: maxAttempts ?? 1,
        ...options,
      });
      enqueued.resolve(answer);
    } catch (error) {
      enqueued.reject(error);
    }
    return enqueued.promise;
  }

  /** Starts nothing more, and ends what is in hand; see `Background.stop`. */
  stop(): Promise<void> {
    return this.#background.stop();
  }

  async #enqueue(
    definition: JobDefinition,
    payload: unknown,
    options: StartOptions,
  ): Promise<StartAnswer> {
    const call = this.#parts.database.call.bind(this.#parts.database);
    return (await enqueue(this.#parts, call, definition, payload, options)) as StartAnswer;
  }

  /** Never rejects. */
  async #run(enqueued: Promise<StartAnswer>, timeoutMs: number): Promise<void> {
    const answer = await enqueued.catch(() => undefined); // the caller was told
    if (answer?.outcome !== "created") return;
    const claimed = await this.#claim(answer.id, timeoutMs);
    if (claimed === undefined) return;
    const ended = this.#crew.begin(claimed);
    // The handler need not begin, but the job must not wait for its start_by.
    if (this.#background.stopped) this.#crew.abort();
    await ended;
  }

  /** The job, claimed; undefined where somebody else has it, or the database can't be asked. */
  async #claim(id: string, timeoutMs: number): Promise<ClaimedJob | undefined> {
    for (let i = 0; ; i += 1) {
      try {
        return await claimJob(this.#parts.database, { id, worker: this.#name, timeoutMs });
      } catch (error) {
        this.#parts.events.emit("error", { error, during: "claim", id });
        if (i >= claimAgainMs.length || this.#background.stopped) return undefined;
        await new Promise((resolve) => setTimeout(resolve, nthWait(claimAgainMs, i)));
      }
    }
  }
}
