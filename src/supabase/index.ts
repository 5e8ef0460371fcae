import type { Arguments, Database } from "../database.ts";
import { type Duration, durationMs } from "../duration.ts";
import { type FunctionName, isRowFunction } from "../functions.ts";
import { inTime } from "../in-time.ts";
import { knownOptions, text } from "../options.ts";
import { checkClient } from "./check-client.ts";
import { failure } from "./failure.ts";
import { jsonArguments } from "./json-arguments.ts";
import type { SupabaseAnswer, SupabaseCall, SupabaseLike } from "./like.ts";

export type { SupabaseLike } from "./like.ts";

export interface SupabaseOptions {
  /** The schema that holds leasehold's functions, "leasehold" by default. The Data API must serve it. */
  schema?: string;
  /** How long a call may take, "30s" by default. Then it is aborted, as if the database were away. */
  timeout?: Duration;
}

/**
 * A database of calls alone. There is no connection to hold a transaction open on, to listen on or
 * to run a script over; docs/supabase.md has what to do in their place.
 */
export interface SupabaseDatabase extends Database {
  /** Any `{ tx }` is refused with LH104. */
  readonly rpcOnly: true;
  readonly transaction?: never;
  readonly listen?: never;
  readonly script?: never;
  readonly close?: never;
}

/**
 * Supabase's PostgreSQL through supabase-js: every operation is one `rpc` over HTTPS, so a function
 * needs neither a connection string nor a pool.
 *
 * Takes what `createClient(url, key)` answers, with the service_role key or a secret key, or anything
 * of its shape. Each call is a transaction of its own. A claim asks for 100 jobs at most.
 *
 * Throws LH107 for anything else, LH002 and LH003 for options. Calls reject with LH110 where the
 * Data API does not serve the schema, LH111 where the key is not one that may call it, LH007 where
 * the schema is missing or PostgREST has not read it, and with plain errors where Supabase is away.
 */
export function supabase(client: SupabaseLike, options: SupabaseOptions = {}): SupabaseDatabase {
  checkClient(client);
  knownOptions("supabase", options, ["schema", "timeout"]);
  const { schema = "leasehold", timeout = "30s" } = options;
  text("schema", schema, { maxBytes: 63 });
  const timeoutMs = durationMs("timeout", timeout, { min: 1 });
  return {
    schema,
    rpcOnly: true,
    async call(name, args) {
      const { data, error, status = 0 } = await send(client, schema, name, args, timeoutMs);
      const said = error ?? (fits(name, data, status) ? undefined : {});
      if (said !== undefined) throw failure(said, status, { schema, name });
      return data;
    },
  };
}

/** Sends one call, for so long. What the client rejects with is an answer, too. */
async function send(
  client: SupabaseLike,
  schema: string,
  name: FunctionName,
  args: Arguments,
  timeoutMs: number,
): Promise<SupabaseAnswer> {
  const giveUp = new AbortController();
  const rpc = client.schema(headerText(schema)).rpc(name, jsonArguments(name, args));
  const call = rpc as SupabaseCall;
  const answer = Promise.resolve(call.abortSignal?.(giveUp.signal) ?? call).catch(
    (error: unknown) => ({ data: null, error: error ?? {}, status: 0 }),
  );
  try {
    return await inTime(answer, timeoutMs);
  } finally {
    giveUp.abort();
  }
}

/** Names of schemas travel in a header: PostgREST reads UTF-8 there, and fetch takes bytes as Latin-1. */
function headerText(name: string): string {
  return String.fromCharCode(...new TextEncoder().encode(name));
}

/** The functions that answer nothing, with status 204. */
const silent: readonly FunctionName[] = ["guard", "worker_echo"];

/**
 * Whether that is what the function answers. supabase-js takes an empty 404 for a 204: a gateway that
 * lost its way would look like a job that does not exist.
 */
function fits(name: FunctionName, data: unknown, status: number): boolean {
  if (isRowFunction(name)) return Array.isArray(data);
  return status !== 204 || silent.includes(name);
}
