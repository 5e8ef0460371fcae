import type { Database } from "./database.ts";
import { invalidArgument, leaseLost, show } from "./errors.ts";
import type { ClaimedJob } from "./job.ts";
import { toJsonValue } from "./json.ts";
import { text } from "./options.ts";
import { isRefusedValue } from "./record.ts";
import { nthWait } from "./waits.ts";

/** SQL takes names of 500 bytes; what a repeated one gets behind it must fit in. */
const maxNameBytes = 490;

/** The waits between tries to reach the database, in milliseconds; the last one is repeated. */
const againMs = [50, 200, 500, 1_000];

/** The claim whose steps these are. */
export interface StepsOptions {
  readonly claimed: Pick<ClaimedJob, "id" | "generation">;
  readonly signal: AbortSignal;
  /** The lease that each save leaves behind. */
  readonly leaseMs: number;
}

/** The durable steps of one attempt: what is behind `job.step`. */
export class Steps {
  readonly #options: StepsOptions;
  readonly #call: Database["call"];
  readonly #uses = new Map<string, number>();
  #stored: Promise<ReadonlySet<string>> | undefined;

  constructor(options: StepsOptions, call: Database["call"]) {
    this.#options = options;
    this.#call = call;
  }

  /**
   * What the step of this name has stored, or else what `work` answers, stored. The name is decided
   * before anything is awaited, so that it goes by the order of the calls.
   */
  async run<T>(name: string, work: () => Promise<T> | T): Promise<T> {
    const stepName = this.#nth(name);
    const { signal } = this.#options;
    if ((await this.#names()).has(stepName)) return (await this.#load(stepName)) as T;
    signal.throwIfAborted();
    const value = toJsonValue(await work(), { what: `the result of step ${show(stepName)}` });
    await this.#save(stepName, value);
    return value as T;
  }

  /** The name under which this use of `name` is stored: "mail", then "mail#2". */
  #nth(name: string): string {
    text("the name of a step", name, { maxBytes: maxNameBytes });
    if (/#\d+$/.test(name)) {
      const accepted = "a name that does not end in # and digits, which mark a repeated one";
      throw invalidArgument("the name of a step", name, accepted);
    }
    const use = (this.#uses.get(name) ?? 0) + 1;
    this.#uses.set(name, use);
    return use === 1 ? name : `${name}#${use}`;
  }

  /** Asked once an attempt. The first claim of a job finds nothing, and need not ask. */
  #names(): Promise<ReadonlySet<string>> {
    this.#stored ??= this.#askNames();
    return this.#stored;
  }

  async #askNames(): Promise<ReadonlySet<string>> {
    const { id, generation } = this.#options.claimed;
    if (generation === 1) return new Set();
    return new Set((await this.#patiently("step_names", { p_id: id })) as string[]);
  }

  #load(name: string): Promise<unknown> {
    return this.#patiently("step_load", { p_id: this.#options.claimed.id, p_name: name });
  }

  async #save(name: string, value: unknown): Promise<void> {
    const { claimed, leaseMs } = this.#options;
    const saved = await this.#patiently("step_save", {
      p_id: claimed.id,
      p_generation: claimed.generation,
      p_name: name,
      p_value: value,
      p_lease_ms: leaseMs,
    });
    if (!saved) {
      throw leaseLost(claimed, `what step ${show(name)} has answered was not stored`);
    }
  }

  /**
   * Asks again while the database is away: a step's work is done and maybe paid, and an attempt that
   * ended for that reason would do it again. When the signal aborts it is tried one last time.
   */
  async #patiently(...[name, args]: Parameters<Database["call"]>): Promise<unknown> {
    const { signal } = this.#options;
    for (let i = 0; ; i += 1) {
      const last = signal.aborted;
      try {
        return await this.#call(name, args);
      } catch (error) {
        if (isHopeless(error)) throw error;
        if (last) throw signal.reason;
        await unlessAborted(nthWait(againMs, i), signal);
      }
    }
  }
}

/** Whether asking again can't help: a refused value, no such function or no right, no database. */
function isHopeless(error: unknown): boolean {
  if (isRefusedValue(error)) return true;
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && /^(42...|LH0\d\d|LH10[1-7])$/.test(code);
}

/** Resolves after `ms`, or when the signal aborts. */
function unlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done);
  });
}
