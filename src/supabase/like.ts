/**
 * The parts of supabase-js that leasehold uses, by shape: its types are not imported, so that an
 * application without it compiles, and any client of this shape fits, postgrest-js' own for one.
 */

// biome-ignore lint/suspicious/noExplicitAny: each client allows its own names of schemas and functions
type Any = any;

/** What `createClient(url, key)` answers, whatever types were generated for it, or what looks like it. */
export interface SupabaseLike {
  /** The same client for another schema. */
  schema(name: Any): {
    rpc(name: Any, args?: Any): PromiseLike<Any>;
  };
  rpc(name: Any, args?: Any): PromiseLike<Any>;
}

/** A call, which is sent once it is awaited. */
export interface SupabaseCall extends PromiseLike<SupabaseAnswer> {
  /** Older clients, and those made by hand, may lack it. */
  abortSignal?(signal: AbortSignal): SupabaseCall;
}

/** What a call resolves with, also where it failed. */
export interface SupabaseAnswer {
  readonly data: unknown;
  /** Null where all is well. */
  readonly error: unknown;
  /** The HTTP status; 0 where there was no answer. */
  readonly status?: number;
}
