import { type Connection, defaultConnection } from "./connection.ts";
import { isSettled, type JobView } from "./job-view.ts";
import { pauseMs } from "./pause.ts";
import { type JobKey, jobKey } from "./query-options.ts";
import { askAgain, recalledPauseMs } from "./recall.ts";
import type { ConnectionOption } from "./request.ts";
import { JobRequestError } from "./request-error.ts";

/** What SWR passes when a request failed. */
export interface JobSwrRetry {
  readonly retryCount?: number;
  readonly dedupe?: boolean;
}

/** The configuration of SWR for jobs. */
export interface JobSwrConfig {
  readonly dedupingInterval: number;
  readonly refreshInterval: (job: JobView | undefined) => number;
  readonly shouldRetryOnError: (error: Error) => boolean;
  readonly onErrorRetry: (
    error: Error,
    key: string,
    config: unknown,
    revalidate: (options: JobSwrRetry) => unknown,
    options: JobSwrRetry,
  ) => void;
}

/** The arguments of `useSWR`. */
export type JobSwr<Result = unknown, Progress = unknown> = readonly [
  key: JobKey | null,
  fetcher: (key: JobKey) => Promise<JobView<Result, Progress>>,
  config: JobSwrConfig,
];

/**
 * A job for those who keep their data in SWR: `useSWR(...jobSwr(id))`. Growing pauses, Retry-After,
 * ETag and the end are those of `useJob`; visibility, focus and the cache are SWR's own, so a job
 * that is settled is still looked at when the window gets the focus, which costs a 304.
 *
 * `id`: null, undefined or "" for none yet. It is no hook and knows no provider: give `connection`
 * where it is not the default one.
 */
export function jobSwr<Result = unknown, Progress = unknown>(
  id: string | null | undefined,
  { connection = defaultConnection }: ConnectionOption = {},
): JobSwr<Result, Progress> {
  const { fetcher, config, idleConfig } = partsOf(connection);
  return [
    id ? jobKey(connection, id) : null,
    fetcher as JobSwr<Result, Progress>[1],
    id ? config : idleConfig,
  ];
}

interface Parts {
  readonly fetcher: (key: JobKey) => Promise<JobView>;
  readonly config: JobSwrConfig;
  readonly idleConfig: JobSwrConfig;
}

/** One of each for a connection: SWR begins its pause anew whenever it is given another function. */
const parts = new WeakMap<Connection, Parts>();

function partsOf(connection: Connection): Parts {
  const known = parts.get(connection) ?? makeParts(connection);
  parts.set(connection, known);
  return known;
}

function makeParts(connection: Connection): Parts {
  const config: JobSwrConfig = {
    // Components that ask in the same moment share the request; the next poll is not swallowed.
    dedupingInterval: connection.firstPauseMs / 2,
    // SWR stops for good at 0, so before the first answer it must be a pause.
    refreshInterval: (job) => {
      if (job === undefined) return connection.firstPauseMs;
      return isSettled(job) ? 0 : recalledPauseMs(connection, job.id);
    },
    shouldRetryOnError: (error) => !(error instanceof JobRequestError && error.isFinal),
    onErrorRetry: (error, _key, _config, revalidate, options) => {
      const retryAfterMs = error instanceof JobRequestError ? error.retryAfterMs : 0;
      const pause = pauseMs(connection, (options.retryCount ?? 1) - 1, retryAfterMs);
      setTimeout(() => revalidate(options), pause);
    },
  };
  return {
    fetcher: ([, , , id]) => askAgain(connection, id ?? ""),
    config,
    idleConfig: { ...config, refreshInterval: () => 0 },
  };
}
