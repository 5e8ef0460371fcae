import { type Connection, defaultConnection } from "./connection.ts";
import { isSettled, type JobView } from "./job-view.ts";
import { askAgain, recalledPauseMs } from "./recall.ts";
import type { ConnectionOption } from "./request.ts";
import type { JobRequestError } from "./request-error.ts";

/** The key of a job in the caches of other libraries. */
export type JobKey = readonly ["leasehold", basePath: string, "jobs", id: string | null];

/** What is needed of TanStack's Query, so that its types stay out of the package. */
export interface JobQuery {
  readonly state: {
    readonly data: JobView | undefined;
    readonly error: Error | null;
  };
}

/** Options for TanStack Query, version 5: `useQuery(jobQueryOptions(id))`. */
export interface JobQueryOptions<Result = unknown, Progress = unknown> {
  readonly queryKey: JobKey;
  readonly queryFn: (context: {
    readonly signal: AbortSignal;
  }) => Promise<JobView<Result, Progress>>;
  readonly enabled: boolean;
  readonly retry: false;
  readonly refetchInterval: (query: JobQuery) => number | false;
  readonly refetchOnWindowFocus: (query: JobQuery) => boolean;
  readonly refetchOnReconnect: (query: JobQuery) => boolean;
  readonly staleTime: (query: JobQuery) => number;
}

/**
 * A job for those who keep their data in TanStack Query: the rules of `useJob` (growing pauses,
 * Retry-After, ETag, an end when it is settled or refused), done by TanStack's own timers and cache.
 * `error` stands beside the last `data`, as in `useJob`; `retry` is off, since polling goes on anyway.
 *
 * `id`: null, undefined or "" for none yet. It is no hook and knows no provider: give `connection`
 * where it is not the default one, and a whole URL as its `basePath` on a server.
 */
export function jobQueryOptions<Result = unknown, Progress = unknown>(
  id: string | null | undefined,
  { connection = defaultConnection }: ConnectionOption = {},
): JobQueryOptions<Result, Progress> {
  const goesOn = (query: JobQuery) => !isOver(query);
  return {
    queryKey: jobKey(connection, id),
    queryFn: async ({ signal }) =>
      (await askAgain(connection, id ?? "", signal)) as JobView<Result, Progress>,
    enabled: Boolean(id),
    retry: false,
    refetchInterval: (query) => goesOn(query) && recalledPauseMs(connection, id ?? ""),
    refetchOnWindowFocus: goesOn,
    refetchOnReconnect: goesOn,
    // A settled job is fresh for ever; invalidating the key still has it asked for.
    staleTime: ({ state }) => (state.data && isSettled(state.data) ? Number.POSITIVE_INFINITY : 0),
  };
}

/** The key of a job, for invalidating it or reading it from a cache. */
export function jobKey(connection: Connection, id: string | null | undefined): JobKey {
  return ["leasehold", connection.basePath, "jobs", id || null];
}

function isOver({ state: { data, error } }: JobQuery): boolean {
  if (error !== null) return (error as JobRequestError).isFinal === true;
  return data !== undefined && isSettled(data);
}
