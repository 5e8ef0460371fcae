import { quoteIdentifier, translate } from "../database.ts";
import { cleanText, read } from "../describe-error.ts";
import { leaseholdError } from "../errors.ts";
import type { FunctionName } from "../functions.ts";

/** The call that failed. */
export interface FailedCall {
  readonly schema: string;
  readonly name: FunctionName;
}

/** What PostgREST says of an error, of its own (`PGRST…`) or of PostgreSQL's. */
interface Said {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
  readonly hint?: unknown;
}

/**
 * The error to throw for a call that was not answered well: leasehold's own where something is to be
 * set right, PostgreSQL's under its SQLSTATE, and else a plain one, which means that the database is
 * away. `status` is that of HTTP, 0 where nothing was answered.
 */
export function failure(error: unknown, status: number, call: FailedCall): unknown {
  if (status === 401 || isForbidden(error, call)) return keyRefused(error, status);
  if (!isSaid(error)) return status === 0 ? requestFailed(error) : notPostgrest(error, status);
  const { schema } = call;
  switch (error.code) {
    case "PGRST106":
      return notExposed(schema, error);
    case "PGRST202":
      return unknownFunction(schema, error);
    default:
      return translate(asThrown(error, call), schema);
  }
}

/** Whether PostgREST said it, and not a gateway in front of it: by an SQLSTATE or a code of its own. */
function isSaid(error: unknown): error is Said {
  const [code, message] = [read(error, "code"), read(error, "message")];
  return typeof message === "string" && /^((?=.*\d)[0-9A-Z]{5}|PGRST\w+)$/.test(String(code));
}

/** The shape in which node-postgres throws, whose errors the rest of leasehold knows. */
function asThrown({ code, message, details: detail, hint }: Said, call?: FailedCall): Error {
  // PostgREST does not tell through which functions an error passed.
  const where = call === undefined || isOfCall({ code, message }, call) ? undefined : "inside";
  return Object.assign(new Error(message), { code, detail, hint, where });
}

/** Whether an error of a missing schema or function means the called one, not one within. */
function isOfCall({ code, message }: Said, { schema, name }: FailedCall): boolean {
  if (code === "42883") return message.includes(`.${name}(`);
  return code !== "3F000" || message.includes(`"${schema}"`);
}

/** No right to leasehold's own schema or function; what a trigger of the user's lacks is another's. */
function isForbidden(error: unknown, { schema, name }: FailedCall): boolean {
  const denied = [`schema ${schema}`, `function ${name}`].map((what) => `for ${what}`);
  const message = String(read(error, "message"));
  return (
    read(error, "code") === "42501" &&
    (denied.some((end) => message.endsWith(end)) || message.includes("to set role"))
  );
}

function keyRefused(error: unknown, status: number): Error {
  const said = gist(read(error, "message")) || `HTTP ${status}`;
  const known = read(error, "code") === "42501";
  return leaseholdError(
    "LH111",
    known
      ? `The key of this Supabase client may not call leasehold's functions: ${said}`
      : `Supabase refused the key of this client: ${said}`,
    known ? keyHint : `Copy the key anew, from the project of the client's URL. ${keyHint}`,
    { cause: isSaid(error) ? asThrown(error) : error },
  );
}

const keyHint =
  "Give createClient the service_role key or a secret key (Dashboard → Project Settings → API Keys) " +
  "and keep it on the server: row level security does not hold it. A client on which a user has " +
  "signed in sends that user's token in place of the key, so give leasehold a client of its own.";

function notExposed(schema: string, error: Said): Error {
  return leaseholdError(
    "LH110",
    `The Data API does not serve the schema ${quoteIdentifier(schema)}`,
    "Add it in the Dashboard under Project Settings → Data API → Exposed schemas, or to `schemas` " +
      "of `[api]` in supabase/config.toml; for a PostgREST of your own, to its db-schemas.",
    { cause: asThrown(error) },
  );
}

function unknownFunction(schema: string, error: Said): Error {
  return leaseholdError(
    "LH007",
    `The schema ${quoteIdentifier(schema)} is missing in this database, or older than this version ` +
      "of leasehold, or PostgREST has not read it yet",
    "Run `leasehold migrate` over the direct connection, or put its SQL (`leasehold migrate " +
      "--print`) among your migrations. It tells PostgREST to read the schema anew; where that " +
      "was not heard, run `notify pgrst, 'reload schema'`.",
    { cause: asThrown(error) },
  );
}

/** Nothing was answered: no network, no server, or the client's own patience was at its end. */
function requestFailed(error: unknown): Error {
  const message = `the request to Supabase failed: ${gist(read(error, "message")) || "no reason given"}`;
  return Object.assign(new Error(message, { cause: error }), { code: systemCode(error) });
}

/** supabase-js writes what the system said of a failed fetch into the details, as `(ECONNRESET)`. */
function systemCode(error: unknown): string {
  const own = read(error, "code");
  if (typeof own === "string" && own !== "") return own;
  const [, code] =
    /Caused by: [^\n]*\(([A-Z][A-Z0-9_]+)\)/.exec(String(read(error, "details"))) ?? [];
  return code ?? "FETCH_FAILED";
}

/**
 * A gateway answered in PostgREST's place. Its page is not kept, nor its status as a number: what a
 * handler throws is judged by that, and a gateway's 404 is no reason to give a job up.
 */
function notPostgrest(error: unknown, status: number): Error {
  const said = gist(read(error, "message"));
  const problem = `HTTP ${status} in place of an answer of PostgREST${said && `: ${said}`}`;
  if (status === 413) {
    const hint = "Allow larger bodies in the gateway before PostgREST, or pass a reference.";
    return leaseholdError("LH004", problem, hint);
  }
  return Object.assign(new Error(problem), { code: `HTTP_${status}` });
}

/** What a text says, in a line: of a page, its title, else its first words. */
function gist(text: unknown): string {
  if (typeof text !== "string") return "";
  const title = /<title[^>]*>([^<]*)/i.exec(text.slice(0, 100_000))?.[1];
  const markup = /<(style|script).*?(<\/\1>|$)|<[^>]*>/gis;
  const words = title ?? text.slice(0, 10_000).replace(markup, " ");
  return cleanText(words.replace(/\s+/g, " ").trim(), 200);
}
