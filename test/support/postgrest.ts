import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { type Answered, answered, thrown } from "./postgrest-errors.ts";
import { callFunction, type Found, findFunction } from "./postgrest-functions.ts";
import { type Claims, claimsOf, tokenOf } from "./postgrest-keys.ts";

/**
 * PostgREST's contract for functions, over a real PostgreSQL, and the gateway that Supabase has in
 * front of it. What of it is kept:
 *
 * - `POST /rest/v1/rpc/<function>` through the gateway, which wants an `apikey` that it knows (401);
 *   `POST /rpc/<function>` past it.
 * - The bearer's token (HS256) is verified: PGRST301, PGRST303. Its role, else anon, is set for the
 *   transaction, with `request.jwt.claims` and a search path of the schema asked for.
 * - `Content-Profile` names the schema, in UTF-8; PGRST106 where it is not one of those served.
 * - Named arguments of a JSON object, resolved by the catalogue: PGRST102, PGRST202, PGRST203. JSON
 *   becomes SQL by `json_to_record` with the declared types; what is left out takes its default.
 * - One transaction a call, read only for stable and immutable functions. A scalar answers its JSON
 *   value, a set an array, cut at max-rows after the function has run; nothing is status 204.
 * - `Prefer: count=…` (the total in Content-Range, 206 where it was cut) and `return=minimal`.
 * - The shape of errors, and their HTTP status by SQLSTATE; PGRST000, PGRST001, PGRST003 for trouble
 *   with connections.
 *
 * Not kept: tables, GET and HEAD, filters and `select`, other media types, single unnamed parameters,
 * settings of roles and functions, `pre-request`, raised responses (`PGRST`, `PT…`), the cache of the
 * schema: the catalogue is read at each call.
 */
export interface Postgrest {
  /** For `createClient`. */
  readonly url: string;
  readonly keys: { readonly anon: string; readonly serviceRole: string };
  /** The token of a user who has signed in; other claims on top. */
  token(claims: Partial<Claims> & { sub: string }): string;
  /** The schemas that are served; the first one where none is asked for. May be changed. */
  schemas: string[];
  /** What goes wrong on the way, if anything; may be changed. */
  trouble: (call: PassingCall) => Trouble | undefined;
  /** The functions asked for so far, whatever became of it; `forget` empties it. */
  readonly calls: readonly string[];
  forget(): void;
  /** How many requests are under way: asked, and neither answered nor given up by who asked. */
  readonly open: number;
  close(): Promise<void>;
}

export interface PassingCall {
  readonly name: string;
  /** The how-manieth of this name it is, from 1. */
  readonly nth: number;
  readonly args: Readonly<Record<string, unknown>>;
  /** The bytes of its body. */
  readonly bytes: number;
}

export type Trouble =
  /** The connection breaks before PostgREST hears of the call, or when it has run. */
  | "dropped"
  | "answer dropped"
  /** Nothing is ever answered, and PostgREST is not asked. */
  | "hangs"
  /** The gateway answers in PostgREST's place. */
  | { readonly status: number; readonly body: string; readonly type?: string };

export interface PostgrestOptions {
  /** Of a login that may take the roles anon, authenticated and service_role. */
  url: string;
  /** Default: public alone. */
  schemas?: string[];
  /** Default 1,000, as on Supabase. */
  maxRows?: number;
  /** Connections to the database, and how long a call waits for one. */
  pool?: { max: number; waitMs: number };
}

const jwtSecret = "a secret of at least thirty-two characters";

/** Starts one on a free port of 127.0.0.1. */
export async function startPostgrest({
  url,
  schemas = ["public"],
  maxRows = 1_000,
  pool: { max, waitMs } = { max: 20, waitMs: 10_000 },
}: PostgrestOptions): Promise<Postgrest> {
  const pool = new pg.Pool({ connectionString: url, max, connectionTimeoutMillis: waitMs });
  pool.on("error", () => undefined); // a server that a test stops
  const keys = {
    anon: tokenOf({ role: "anon" }, jwtSecret),
    serviceRole: tokenOf({ role: "service_role" }, jwtSecret),
  };
  const calls: string[] = [];
  let open = 0;

  const server = createServer((request, response) => {
    open += 1;
    response.once("close", () => {
      open -= 1;
    });
    void serve(request, response).catch((error: unknown) => {
      response.destroy(error as Error); // a fault of this server's own
    });
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await textOf(request);
    const [, gateway, name = ""] =
      /^(\/rest\/v1)?\/rpc\/([^/?]+)/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    const isKnown = Object.values(keys).includes(String(request.headers.apikey));
    if (gateway !== undefined && !isKnown) return send(response, 401, invalidKey);
    const args = objectOf(body);
    calls.push(name);
    const nth = calls.filter((each) => each === name).length;
    const trouble = postgrest.trouble({
      name,
      nth,
      args: args ?? {},
      bytes: Buffer.byteLength(body),
    });
    if (trouble === "hangs") return;
    if (trouble === "dropped") return void response.destroy();
    if (typeof trouble === "object") {
      return send(response, trouble.status, trouble.body, {
        "content-type": trouble.type ?? "text/html",
      });
    }
    const answer = await answerTo(request, name, args, body);
    if (trouble === "answer dropped") return void response.destroy();
    return send(response, answer.status, answer.body, "headers" in answer ? answer.headers : {});
  }

  /** What PostgREST answers. */
  async function answerTo(
    { method, headers }: IncomingMessage,
    name: string,
    args: Record<string, unknown> | undefined,
    json: string,
  ): Promise<Answered | Served> {
    if (method !== "POST") {
      return answered(405, "PGRST101", `Cannot use the ${method} method on RPC`);
    }
    const [, bearer] = /^Bearer (.*)$/i.exec(headers.authorization ?? "") ?? [];
    const claims = bearer === undefined ? { role: "anon" } : claimsOf(bearer, jwtSecret);
    if ("code" in claims) return answered(401, claims.code, claims.message);
    const schema = profileOf(headers["content-profile"]) ?? postgrest.schemas[0] ?? "public";
    if (!postgrest.schemas.includes(schema)) {
      const hint = `Only the following schemas are exposed: ${postgrest.schemas.join(", ")}`;
      return answered(406, "PGRST106", `Invalid schema: ${schema}`, { hint });
    }
    if (args === undefined) return answered(400, "PGRST102", "Empty or invalid json");
    const asked = { schema, name, given: Object.keys(args), json };
    try {
      const found = await findFunction(pool, asked);
      if ("body" in found) return found;
      const rows = await callFunction(pool, claims, asked, found, maxRows);
      return served(found, rows, maxRows, String(headers.prefer ?? ""));
    } catch (error) {
      return thrown(error, claims.role !== "anon");
    }
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const postgrest: Postgrest = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    token: (claims) => tokenOf({ role: "authenticated", ...claims }, jwtSecret),
    schemas,
    trouble: () => undefined,
    calls,
    forget: () => void calls.splice(0),
    get open() {
      return open;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await pool.end();
    },
  };
  return postgrest;
}

const invalidKey = {
  message: "Invalid API key",
  hint: "Double check your Supabase `anon` or `service_role` API key.",
};

interface Served {
  readonly status: number;
  readonly body: string;
  readonly headers: Record<string, string>;
}

function served(
  { returns }: Found,
  { body, total }: { body: string; total: number },
  maxRows: number,
  prefer: string,
): Served {
  if (returns === "nothing") return { status: 204, body: "", headers: {} };
  const counted = /count=(exact|planned|estimated)/.test(prefer);
  const last = Math.min(total, maxRows) - 1;
  const range = `${last < 0 ? "*" : `0-${last}`}/${counted ? total : "*"}`;
  const headers = { "content-range": range, "content-type": "application/json; charset=utf-8" };
  if (prefer.includes("return=minimal")) return { status: 204, body: "", headers };
  return { status: counted && total > maxRows ? 206 : 200, body, headers };
}

/** Node reads headers as Latin-1; PostgREST as UTF-8. */
function profileOf(header: string | string[] | undefined): string | undefined {
  return header === undefined ? undefined : Buffer.from(String(header), "latin1").toString();
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text === "" ? "{}" : text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

function send(
  response: ServerResponse,
  status: number,
  body: object | string,
  headers: Record<string, string> = { "content-type": "application/json" },
): void {
  response.writeHead(status, headers);
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
