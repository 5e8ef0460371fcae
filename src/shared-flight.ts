import type { ClientParts } from "./client-parts.ts";
import { LeaseholdError, show } from "./errors.ts";
import type { Load } from "./flight.ts";
import { inTime, settledWithin } from "./in-time.ts";
import { type JsonValue, toJsonValue } from "./json.ts";
import { Outage } from "./outage.ts";
import { isRefusedValue } from "./record.ts";

/** What `cache_begin` answers. */
type BeginAnswer =
  | { state: "hit"; value: JsonValue; token: null }
  | { state: "fill"; token: string }
  | { state: "wait"; token: null; retry_after_ms: number };

/** A load that processes share. */
export interface SharedLoad {
  readonly key: string;
  readonly ttlMs: number;
  readonly leaseMs: number;
  /** Aborts when nobody in this process waits any more. */
  readonly signal: AbortSignal;
}

/**
 * A database that does not answer by then is away: the value matters more than one load less. Long
 * enough for the first call, which may open the database. While it is away, nobody waits so long.
 */
const answerWithinMs = { normally: 10_000, whileAway: 1_000 } as const;

/**
 * Single flight across processes, through the SQL functions cache_begin, cache_put and cache_drop.
 * While the database is away each process loads for itself, and the outage is told once.
 */
export class SharedFlights {
  readonly #parts: Pick<ClientParts, "database" | "events" | "log">;
  readonly #outage: Outage;

  constructor(parts: Pick<ClientParts, "database" | "events" | "log">) {
    this.#parts = parts;
    this.#outage = new Outage(parts);
  }

  /** Whether the database could not be asked the last time. */
  get away(): boolean {
    return this.#outage.error !== undefined;
  }

  /** The stored value, or what `load` makes, in the form in which JSON brings it back. */
  async load(shared: SharedLoad, load: Load<unknown>): Promise<JsonValue> {
    const { key, signal } = shared;
    for (;;) {
      const answer = await this.#begin(shared);
      if (answer === undefined) return made(key, signal, load);
      if (answer.state === "hit") return answer.value;
      if (answer.state === "fill") return this.#fill(shared, answer.token, load);
      await pause(answer.retry_after_ms, signal);
    }
  }

  /** Rejects where the database is away: what was to go may still be there. */
  async invalidate(key: string): Promise<void> {
    await this.#parts.database.call("cache_drop", { p_key: key });
  }

  /** Undefined where the database is away. */
  async #begin({ key, leaseMs }: SharedLoad): Promise<BeginAnswer | undefined> {
    const asked = this.#parts.database.call("cache_begin", { p_key: key, p_lease_ms: leaseMs });
    try {
      const answer = (await inTime(asked, this.#patienceMs())) as BeginAnswer;
      this.#outage.answered("cache");
      return answer;
    } catch (error) {
      if (!isAway(error)) throw error;
      this.#outage.failed(error, "cache");
      // Answered after all, a fill of nobody's would keep others waiting.
      asked.then(
        (late) => this.#giveUpFill(key, late as BeginAnswer),
        () => undefined,
      );
      return undefined;
    }
  }

  #patienceMs(): number {
    return this.away ? answerWithinMs.whileAway : answerWithinMs.normally;
  }

  async #fill(shared: SharedLoad, token: string, load: Load<unknown>): Promise<JsonValue> {
    const { key, ttlMs, signal } = shared;
    try {
      const value = await made(key, signal, load);
      await this.#put(key, token, value, ttlMs);
      return value;
    } catch (error) {
      await this.#giveUp(key, token);
      throw error;
    }
  }

  /** Whoever waits here gets the value, stored or not. Throws where it is one that can't be stored. */
  async #put(key: string, token: string, value: JsonValue, ttlMs: number): Promise<void> {
    const args = { p_key: key, p_token: token, p_value: value, p_ttl_ms: ttlMs };
    try {
      const stored = await inTime(this.#parts.database.call("cache_put", args), this.#patienceMs());
      if (!stored) this.#parts.log.debug({ key }, "a load came too late to be stored");
    } catch (error) {
      if (isRefusedValue(error)) throw error;
      this.#outage.failed(error, "cache");
    }
  }

  async #giveUpFill(key: string, answer: BeginAnswer): Promise<void> {
    if (answer.state === "fill") await this.#giveUp(key, answer.token);
  }

  /** If it can't be said, the lease ends the fill. */
  async #giveUp(key: string, token: string): Promise<void> {
    const said = this.#parts.database.call("cache_drop", { p_key: key, p_token: token });
    await settledWithin(said, this.#patienceMs());
  }
}

async function made(key: string, signal: AbortSignal, load: Load<unknown>): Promise<JsonValue> {
  signal.throwIfAborted();
  return toJsonValue(await load({ signal }), { what: `the value of ${show(key)}` });
}

/** A mistake (a missing schema, a key too long) does not pass by loading alone. */
function isAway(error: unknown): boolean {
  return !(error instanceof LeaseholdError) || error.code === "LH108";
}

/** A little longer, so that those who wait for one value do not ask together. Rejects with the signal. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    // Not unref'ed: somebody waits for this.
    const timer = setTimeout(
      () => {
        signal.removeEventListener("abort", leave);
        resolve();
      },
      ms * (1 + Math.random() * 0.25),
    );
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
  });
}
