import type { Pauses } from "./pause.ts";

/** Headers by name. */
export type HeaderValues = Readonly<Record<string, string>>;

/** The one way in which requests are made; the browser's `fetch` fits. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What `createConnection` takes. */
export interface ConnectionOptions {
  /**
   * Where leasehold's routes are mounted: a path of the page's own origin, or a whole URL. Default
   * "/api/leasehold".
   */
  basePath?: string;
  /**
   * Headers for every request. A function is asked before each one and may answer a promise, for a
   * token that changes; where it throws, that counts as a network error, and polling goes on.
   */
  headers?: HeaderValues | (() => HeaderValues | Promise<HeaderValues>);
  /** In place of the global `fetch`: for cookies of another origin, or to log. */
  fetch?: Fetch;
  /** The first pause between two requests, in milliseconds, at least 1. Default 500. */
  firstPauseMs?: number;
  /** What the pause grows to, in milliseconds. The server may ask for more. Default 10,000. */
  maxPauseMs?: number;
  /** How long one request may take, in milliseconds. Default 30,000. */
  timeoutMs?: number;
}

/** Where the jobs are, and how to ask for them. */
export interface Connection extends Pauses {
  readonly basePath: string;
  readonly headers: () => HeaderValues | Promise<HeaderValues>;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
}

/**
 * Says where leasehold's routes are. Make it once, in a module or a ref: components share one poller
 * for a job only where they share the connection. Hooks take it from `LeaseholdProvider` or their
 * options, and without either use `defaultConnection`.
 *
 * Throws RangeError for a number of milliseconds that is out of bounds, by name.
 */
export function createConnection(options: ConnectionOptions = {}): Connection {
  const { basePath = "/api/leasehold", headers = {} } = options;
  return {
    basePath: basePath.replace(/\/+$/, ""),
    headers: typeof headers === "function" ? headers : () => headers,
    // Looked up at each call: whoever replaces the global one later (tracing, tests) is heard.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    firstPauseMs: milliseconds("firstPauseMs", options.firstPauseMs ?? 500),
    maxPauseMs: milliseconds("maxPauseMs", options.maxPauseMs ?? 10_000),
    timeoutMs: milliseconds("timeoutMs", options.timeoutMs ?? 30_000),
  };
}

/** A pause of 0 or NaN would ask without end. */
function milliseconds(name: string, value: number): number {
  if (value >= 1 && value < 2 ** 31) return value;
  throw new RangeError(`${name} is ${value}. Give milliseconds, at least 1.`);
}

/** The connection to /api/leasehold of the page's own origin. */
export const defaultConnection: Connection = /* @__PURE__ */ createConnection();
