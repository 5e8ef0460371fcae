import type { ClientParts } from "./client-parts.ts";
import { type Duration, durationMs } from "./duration.ts";
import { invalidArgument } from "./errors.ts";
import { Flight, type Load } from "./flight.ts";
import { type KeepBounds, KeptValues } from "./kept-values.ts";
import { integer, knownOptions, text } from "./options.ts";
import { SharedFlights } from "./shared-flight.ts";

/** How one call shares its load, and with whom. */
export interface SingleFlightOptions {
  /**
   * How long the value is kept, from the end of its load; that of the call which began the load
   * counts. 1 ms to 24.8 days. Without it nothing is kept, and only those who call while the load is
   * under way share it. Required with `shared`.
   */
  ttl?: Duration;
  /**
   * Whether other processes share it, through the table `cache`. The value is JSON then, up to 1 MB.
   * `lease` is how long a load may take before another process is let in, should the one that has it
   * be dead: 30 s by default. It is not renewed.
   */
  shared?: boolean | { lease?: Duration };
  /** Ends this caller's wait alone, which rejects with its reason. */
  signal?: AbortSignal | undefined;
}

/** Whom an invalidation reaches. */
export interface InvalidateOptions {
  /** Also what is shared across processes under the key. Default false. */
  shared?: boolean;
}

/** How many values a client keeps in memory, at the most. */
export interface CacheOptions {
  /** 0 to 1,000,000; default 1,000. */
  maxEntries?: number;
  /** In bytes, by an estimate (see docs/client.md); default 64 MB. */
  maxBytes?: number;
}

interface FlightSettings {
  readonly ttlMs: number | undefined;
  /** Undefined: not shared across processes. */
  readonly leaseMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Fills in the defaults. Throws LH002 and LH003. */
export function keepBounds(options: CacheOptions = {}): KeepBounds {
  knownOptions("cache", options, ["maxEntries", "maxBytes"]);
  const { maxEntries = 1_000, maxBytes = 64 * 1_048_576 } = options;
  return {
    maxEntries: integer("maxEntries", maxEntries, { min: 0, max: 1_000_000 }),
    maxBytes: integer("maxBytes", maxBytes, { min: 0, max: Number.MAX_SAFE_INTEGER }),
  };
}

/** The loads under way in this client, and the values that it keeps. */
export class SingleFlight {
  readonly #parts: Pick<ClientParts, "housekeeping">;
  readonly #shared: SharedFlights;
  readonly #kept: KeptValues;
  /** Those that may still be joined. Shared and unshared loads of one key have nothing in common. */
  readonly #flights = new Map<string, Flight>();

  constructor(
    parts: Pick<ClientParts, "database" | "events" | "log" | "housekeeping">,
    bounds: KeepBounds,
  ) {
    this.#parts = parts;
    this.#shared = new SharedFlights(parts);
    this.#kept = new KeptValues(bounds);
  }

  /** See `Leasehold.singleFlight`. */
  async run<T>(key: string, options: SingleFlightOptions, load: Load<T>): Promise<T> {
    checkKey(key);
    const settings = flightSettings(options);
    if (typeof load !== "function") throw invalidArgument("load", load, "a function");
    const { signal, leaseMs } = settings;
    signal?.throwIfAborted();
    const kept = leaseMs === undefined ? this.#kept.get(key) : undefined;
    if (kept !== undefined) return kept.value as T;
    const name = flightName(key, leaseMs !== undefined);
    const underWay = this.#flights.get(name);
    if (underWay !== undefined) return (await underWay.join(signal)) as T;
    const flight = this.#flight(name, key, settings);
    this.#flights.set(name, flight);
    const value = flight.join(signal);
    flight.start(this.#loadBy(key, settings, load));
    return (await value) as T;
  }

  /** See `Leasehold.invalidate`. */
  async invalidate(key: string, options: InvalidateOptions = {}): Promise<void> {
    checkKey(key);
    knownOptions("invalidate", options, ["shared"]);
    const { shared = false } = options;
    if (typeof shared !== "boolean") throw invalidArgument("shared", shared, "true or false");
    this.#forget(key);
    if (!shared) return;
    await this.#shared.invalidate(key);
    // Whoever has asked meanwhile may have got what was there before; nobody is to join that.
    this.#forget(key);
  }

  /** Keeps nothing any more. */
  close(): void {
    this.#kept.clear();
  }

  #loadBy(key: string, { ttlMs, leaseMs }: FlightSettings, load: Load<unknown>): Load<unknown> {
    if (ttlMs === undefined || leaseMs === undefined) return load;
    return async ({ signal }) => {
      const value = await this.#shared.load({ key, ttlMs, leaseMs, signal }, load);
      if (!this.#shared.away) this.#parts.housekeeping.nowAndThen();
      return value;
    };
  }

  /** One that was invalidated or abandoned takes away and keeps nothing: the entry is a newer one's. */
  #flight(name: string, key: string, { ttlMs, leaseMs }: FlightSettings): Flight {
    const isLatest = () => this.#flights.get(name) === flight;
    const forget = () => {
      if (isLatest()) this.#flights.delete(name);
    };
    const flight: Flight = new Flight({
      onValue: (value) => {
        // What is shared is kept in the table alone, or an invalidation could not reach it here.
        const keep = isLatest() && ttlMs !== undefined && leaseMs === undefined;
        forget();
        if (keep) this.#kept.set(key, value, ttlMs);
      },
      onError: forget,
      onAbandoned: forget,
    });
    return flight;
  }

  #forget(key: string): void {
    this.#kept.delete(key);
    this.#flights.delete(flightName(key, false));
    this.#flights.delete(flightName(key, true));
  }
}

function flightName(key: string, shared: boolean): string {
  return `${shared ? "shared" : "own"} ${key}`;
}

function checkKey(key: unknown): void {
  text("key", key, { maxBytes: 500 });
}

function flightSettings(options: SingleFlightOptions): FlightSettings {
  knownOptions("singleFlight", options, ["ttl", "shared", "signal"]);
  const { ttl, signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalidArgument("signal", signal, "an AbortSignal");
  }
  const leaseMs = sharedLeaseMs(options.shared);
  if (ttl === undefined && leaseMs !== undefined) {
    throw invalidArgument("ttl", ttl, 'how long a shared value stays, such as "10m"');
  }
  const ttlMs = ttl === undefined ? undefined : durationMs("ttl", ttl, { min: 1 });
  return { ttlMs, leaseMs, signal };
}

function sharedLeaseMs(shared: unknown = false): number | undefined {
  if (shared === false) return undefined;
  if (shared !== true && (typeof shared !== "object" || shared === null)) {
    throw invalidArgument("shared", shared, "true, false or { lease }");
  }
  const options: { lease?: Duration } = shared === true ? {} : shared;
  knownOptions("shared", options, ["lease"]);
  return durationMs("lease", options.lease ?? 30_000, { min: 1 });
}
