import type { Leasehold } from "../client.ts";
import { accessOf } from "../client-access.ts";
import type { Database } from "../database.ts";
import { invalidArgument } from "../errors.ts";
import { consoleLogger, type Logger } from "../logger.ts";
import { knownOptions, text } from "../options.ts";
import type { DashboardAccess } from "./access.ts";
import { namesRedacted, type Redact } from "./redact.ts";

export type { Redact } from "./redact.ts";

/** What `dashboard` takes. */
export interface DashboardOptions {
  /** The client of `createLeasehold`, or what has its `database`. */
  leasehold: Pick<Leasehold, "database">;
  /**
   * Says who asks: "admin" sees and acts, "read" sees, and for anything else there is no page (404). It
   * may answer `{ role, name }`, and may throw or answer a Response, such as a redirect to where one
   * signs in. Without it the dashboard is open under NODE_ENV=development, and closed everywhere else.
   */
  authorize?: (
    request: Request,
  ) => DashboardAccess | Response | Promise<DashboardAccess | Response>;
  /**
   * What of payloads, progress and results is not to leave the server: names of properties, at any depth
   * and whatever their case; or a function that answers what is shown in place of each value.
   */
  redact?: readonly string[] | Redact;
  /** What stands above the page. Default "leasehold". */
  title?: string;
  /** Further origins whose pages may act, where a proxy changes the Host header. */
  trustedOrigins?: readonly string[];
}

export interface Settings {
  readonly database: Database;
  readonly authorize: DashboardOptions["authorize"];
  readonly redact: Redact;
  readonly title: string;
  readonly trustedOrigins: ReadonlySet<string>;
  readonly log: Logger;
}

const optionNames = ["leasehold", "authorize", "redact", "title", "trustedOrigins"];

/** Throws LH002 and LH003 for what is no option of the dashboard. */
export function settingsOf(options: DashboardOptions): Settings {
  knownOptions("dashboard", options, optionNames);
  const { leasehold, authorize, redact = [], title = "leasehold", trustedOrigins = [] } = options;
  if (typeof leasehold?.database?.call !== "function") {
    throw invalidArgument("leasehold", leasehold, "what createLeasehold answered");
  }
  if (authorize !== undefined && typeof authorize !== "function") {
    throw invalidArgument("authorize", authorize, "a function");
  }
  if (!Array.isArray(trustedOrigins)) {
    throw invalidArgument("trustedOrigins", trustedOrigins, "an array of origins");
  }
  return {
    database: leasehold.database,
    authorize,
    redact: redaction(redact),
    title: text("title", title, { maxBytes: 200 }),
    trustedOrigins: new Set(
      trustedOrigins.map((origin) => text("an origin", origin, { maxBytes: 500 })),
    ),
    log: accessOf(leasehold)?.log ?? consoleLogger,
  };
}

function redaction(given: NonNullable<DashboardOptions["redact"]>): Redact {
  if (typeof given === "function") return given;
  if (Array.isArray(given) && given.every((name) => typeof name === "string")) {
    return namesRedacted(given);
  }
  throw invalidArgument("redact", given, "an array of names, or a function");
}
