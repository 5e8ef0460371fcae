import type { KeepAlive } from "../background.ts";
import type { Leasehold } from "../client.ts";
import { isDefinition, type JobDefinition } from "../define.ts";
import { attempt } from "../describe-error.ts";
import type { DrainOptions } from "../drain.ts";
import { drainBounds } from "../drain-bounds.ts";
import { invalidArgument } from "../errors.ts";
import { integer, knownOptions, text } from "../options.ts";
import type { Output, PayloadSchema } from "../standard-schema.ts";
import type { StartOptions } from "../start.ts";
import type { Authorize } from "./caller.ts";
import { minSecretLength } from "./secret.ts";

/** What the options of a start are made from. */
export interface StartContext<Schema extends PayloadSchema = PayloadSchema> {
  /** Of `authorize`; null for an admin without one. */
  readonly owner: string | null;
  readonly admin: boolean;
  /** As the definition's schema gives it back. */
  readonly payload: Output<Schema>;
  readonly request: Request;
}

/** A job that may be started, and what the server decides about each start of it. */
export interface ListedJob<Schema extends PayloadSchema = PayloadSchema> {
  job: JobDefinition<Schema>;
  /**
   * The options of this start. An `owner` in them counts for admins alone. A Response that it throws
   * is sent as it is.
   */
  options?: (context: StartContext<Schema>) => StartOptions | Promise<StartOptions>;
}

/** What `http` takes. */
export interface HttpOptions<Schemas extends readonly PayloadSchema[] = readonly PayloadSchema[]> {
  /** The client of `createLeasehold`, whose handlers run what is started here. */
  leasehold: Leasehold;
  /** The jobs that may be started over HTTP; no other can. */
  jobs: {
    readonly [Index in keyof Schemas]: JobDefinition<Schemas[Index]> | ListedJob<Schemas[Index]>;
  };
  /** Says who asks. */
  authorize: Authorize;
  /** Where browsers find these routes. Default "/api/leasehold"; "/" for the root. */
  basePath?: string;
  /**
   * What a caller of /drain must bring as `Authorization: Bearer`; it opens /metrics too. Default: the
   * variable CRON_SECRET, read at each request. With neither, or fewer than 16 characters, /drain is
   * closed.
   */
  secret?: string | undefined;
  /** The bounds of a drain. */
  drain?: DrainOptions;
  /** How the process is kept alive for the work behind the drain's 202. */
  keepAlive?: KeepAlive | undefined;
  /** The most bytes of a body. Default 1 MB for the payload and 64 KB for blanks and escapes. */
  maxBodyBytes?: number;
  /** Further origins whose pages may write, such as "https://admin.example.com". */
  trustedOrigins?: readonly string[];
  /** The language of messages, as a BCP 47 tag. Default: by the request's Accept-Language. */
  language?: string;
  /** Whether the caller may read /metrics, beside admins and who brings the secret. */
  metrics?: (request: Request) => boolean | Promise<boolean>;
}

/** The same, checked and complete. */
export interface Settings
  extends Omit<Required<HttpOptions>, "jobs" | "trustedOrigins" | "language" | "secret"> {
  readonly jobs: ReadonlyMap<string, ListedJob>;
  readonly trustedOrigins: ReadonlySet<string>;
  readonly language: string | undefined;
  /** Undefined where none is configured, or one that is too short. */
  readonly secret: () => string | undefined;
}

const optionNames = [
  "leasehold",
  "jobs",
  "authorize",
  "basePath",
  "secret",
  "drain",
  "keepAlive",
  "maxBodyBytes",
  "trustedOrigins",
  "language",
  "metrics",
] as const satisfies readonly (keyof HttpOptions)[];

/** Throws LH002, LH003, LH004. */
export function settingsOf(options: HttpOptions): Settings {
  knownOptions("http", options, optionNames);
  const { leasehold, keepAlive, language, maxBodyBytes = 1_048_576 + 65_536 } = options;
  const { drain = {}, metrics = () => false, basePath = "/api/leasehold" } = options;
  if (typeof leasehold?.start !== "function" || typeof leasehold.database?.call !== "function") {
    throw invalidArgument("leasehold", leasehold, "what createLeasehold answered");
  }
  // Which kinds have a handler is the client's to know, when it drains.
  drainBounds(drain, drain.kinds ?? ["any"]);
  return {
    leasehold,
    jobs: listedJobs(options.jobs),
    authorize: aFunction("authorize", options.authorize),
    basePath: pathOf(basePath),
    secret: () => secretOf(options.secret),
    drain,
    keepAlive: keepAlive === undefined ? undefined : aFunction("keepAlive", keepAlive),
    maxBodyBytes: integer("maxBodyBytes", maxBodyBytes, { min: 1, max: 100 * 1_048_576 }),
    trustedOrigins: originsOf(options.trustedOrigins ?? []),
    language: language === undefined ? undefined : text("language", language, { maxBytes: 100 }),
    metrics: aFunction("metrics", metrics),
  };
}

function listedJobs(jobs: HttpOptions["jobs"]): ReadonlyMap<string, ListedJob> {
  if (!Array.isArray(jobs)) throw invalidArgument("jobs", jobs, "a list of jobs");
  const listed = new Map<string, ListedJob>();
  for (const entry of jobs as readonly unknown[]) {
    const { job, options } = isDefinition(entry) ? { job: entry } : checkedEntry(entry);
    if (listed.has(job.kind)) throw invalidArgument("jobs", job.kind, "each kind once");
    listed.set(job.kind, options === undefined ? { job } : { job, options });
  }
  return listed;
}

function checkedEntry(entry: unknown): ListedJob {
  knownOptions("an entry of jobs", entry as object, ["job", "options"]);
  const { job, options } = entry as ListedJob;
  if (!isDefinition(job))
    throw invalidArgument("jobs", entry, "what defineJob answered, or { job, options }");
  if (options !== undefined) aFunction(`the options of ${job.kind}`, options);
  return entry as ListedJob;
}

function aFunction<Given>(name: string, value: Given): Given {
  if (typeof value !== "function") throw invalidArgument(name, value, "a function");
  return value;
}

/** As it stands in a URL: "" for the root, else with a slash in front and none behind. */
function pathOf(basePath: unknown): string {
  const accepted = 'a path such as "/api/leasehold", without pattern characters';
  if (typeof basePath !== "string") throw invalidArgument("basePath", basePath, accepted);
  const path = basePath.replace(/\/$/, "");
  if (path === "") return path;
  if (!/^(\/[^/:*?#{}\\\s]+)+$/.test(path) || attempt(() => decodeURI(path)) === undefined) {
    throw invalidArgument("basePath", basePath, accepted);
  }
  return new URL(path, "http://localhost").pathname;
}

function secretOf(given: string | undefined): string | undefined {
  const secret = given ?? globalThis.process?.env?.CRON_SECRET;
  // A variable that is there but blank must close the drain, not open it to a blank token.
  return typeof secret === "string" && secret.trim().length >= minSecretLength ? secret : undefined;
}

function originsOf(origins: readonly string[]): ReadonlySet<string> {
  if (!Array.isArray(origins))
    throw invalidArgument("trustedOrigins", origins, "a list of origins");
  for (const origin of origins) {
    if (typeof origin === "string" && URL.canParse(origin) && new URL(origin).origin === origin)
      continue;
    throw invalidArgument("trustedOrigins", origin, 'origins such as "https://admin.example.com"');
  }
  return new Set(origins);
}
