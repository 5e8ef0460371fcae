import { installed, optionalPackageError } from "../optional-package.ts";
import { type Share, share } from "../shared.ts";
import type { OwnPostgres } from "./like.ts";
import { RenewedInstance } from "./renewed-instance.ts";
import { socketKeepers } from "./socket.ts";

/**
 * What `postgres()` takes in place of an instance: postgres.js' own options. Those that leasehold
 * sets itself unless told otherwise:
 */
export interface PostgresOptions {
  host?: string | string[];
  port?: number | number[];
  database?: string;
  user?: string;
  password?: unknown;
  /** Connections at most, 4 by default: calls are short, and serverless instances are many. */
  max?: number;
  /** Seconds after which an idle connection is closed and lets the process end, 5 by default. */
  idle_timeout?: number;
  /** Whether the statements of the user's transactions may be named, false by default. */
  prepare?: boolean;
  /** What to do with notices, which postgres.js would print; nothing by default. */
  onnotice?: unknown;
  /**
   * Seconds to wait before it connects again after so many failures: at most 2 by default, where
   * postgres.js would wait up to 20, also for a database that is back.
   */
  backoff?: number | ((failures: number) => number);
  /** What the connection says of itself; `application_name` is "leasehold" by default. */
  connection?: object;
  [option: string]: unknown;
}

const defaults = {
  max: 4,
  idle_timeout: 5,
  prepare: false,
  fetch_types: false, // a statement at each connect, for arrays, of which there are none
};

const longestBackoffSeconds = 2;

/** From 10 ms on threefold each time, and up to half of it less, so that not all come at once. */
function backoff(failures: number): number {
  return (0.5 + Math.random() / 2) * Math.min(3 ** failures / 100, longestBackoffSeconds);
}

/**
 * Opens an instance of its own; within one process, equal options share one. Throws LH106 when
 * postgres.js is not installed.
 */
export async function openInstance(
  given: string | PostgresOptions,
): Promise<Share<RenewedInstance>> {
  const create = await loadDriver();
  const [url, options] = typeof given === "string" ? [given, fromUrl(given)] : [undefined, given];
  const all = {
    ...defaults,
    backoff,
    onnotice: () => undefined,
    ...options,
    connection: { application_name: "leasehold", ...options.connection },
  };
  const keeperOf = await socketKeepers(options);
  const open = () => {
    const keeper = keeperOf();
    const settings = { ...all, ...keeper.options };
    return { keeper, sql: url === undefined ? create(settings) : create(url, settings) };
  };
  return share(
    instanceKey(given),
    async () => new RenewedInstance(open),
    (instance) => instance.close(),
  );
}

type Create = (...args: [string, object] | [object]) => OwnPostgres;

/** postgres.js itself. Throws LH106 when it is not installed. */
export async function loadDriver(): Promise<Create> {
  try {
    return installed("postgres", (await import("postgres")).default) as unknown as Create;
  } catch (error) {
    throw optionalPackageError("postgres", error);
  }
}

/** What the URL sets wins, as it does with node-postgres; postgres.js would prefer the options. */
function fromUrl(url: string): PostgresOptions {
  const query = new URLSearchParams(url.slice(url.indexOf("?") + 1 || url.length));
  return Object.fromEntries(
    Object.keys(defaults).flatMap((name) => {
      const value = query.get(name);
      return value === null ? [] : [[name, value === "false" ? false : Number(value) || value]];
    }),
  );
}

/** Options that JSON can't tell apart (a password callback, a TLS context) are never shared. */
function instanceKey(given: string | PostgresOptions): string {
  return `postgres:${JSON.stringify(isPlain(given) ? sorted(given) : crypto.randomUUID())}`;
}

function isPlain(value: unknown): boolean {
  if (typeof value !== "object" || value === null) {
    return ["string", "number", "boolean", "undefined"].includes(typeof value) || value === null;
  }
  const simple = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  return simple && Object.values(value).every(isPlain);
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, item]) => [name, sorted(item)]);
}
