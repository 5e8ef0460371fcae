"use client";

import { useCallback, useMemo, useSyncExternalStore } from "react";
import type { CancelAnswer } from "../status.ts";
import { isSettled, type JobView } from "./job-view.ts";
import { type JobSnapshot, unasked } from "./poller.ts";
import { refresh as refreshPoller, snapshot, subscribe } from "./pollers.ts";
import { useConnection } from "./provider.ts";
import { type ConnectionOption, cancelJob } from "./request.ts";
import type { JobRequestError } from "./request-error.ts";

/** What a cancel came to: as `cancelJob`, or why it could not be asked for. */
export type CancelOutcome =
  | CancelAnswer
  | { readonly outcome: "error"; readonly error: JobRequestError };

/** A job as `useJob` shows it. The same object as long as nothing has changed. */
export interface JobPoll<Result = unknown, Progress = unknown> {
  /** The last answer, kept while errors come; null before the first one. */
  readonly job: JobView<Result, Progress> | null;
  /** Of the last request; null once one is answered again. `error.isFinal` says that it ended here. */
  readonly error: JobRequestError | null;
  /** There is an id, and neither an answer nor a final error yet. */
  readonly isLoading: boolean;
  /** It will be asked for again; in a hidden page, when that is shown. */
  readonly isPolling: boolean;
  /** The job has ended and what it cost is known: see `isSettled`. */
  readonly isSettled: boolean;
  /** Asks now, and goes on from there, also where polling had ended. Never rejects. */
  readonly refresh: () => Promise<void>;
  /** Cancels the job, then asks for it. Never rejects; without an id, `unknown`. */
  readonly cancel: () => Promise<CancelOutcome>;
}

/** Without an id there is nothing to ask for. */
const idle: JobSnapshot = { job: null, error: null, isPolling: false };

const nothing = () => undefined;

/**
 * Follows a job until it is settled. Asks with growing pauses (see `createConnection`), never sooner
 * than the server's Retry-After; not while the page is hidden, and at once when it is shown. All
 * components with the same id and connection share one poller, which ends with the last of them.
 *
 * No answer, 408, 425, 429 and 5xx are shown as `error` beside the last value, and it goes on; any
 * other 4xx (404 for a job that is unknown or another's, 401, 403) ends it. Nothing of one id is ever
 * shown under another. On a server it answers the state before the first request.
 *
 * `id`: as `useStartJob` or the server gave it; null, undefined or "" for none yet. `Result` and
 * `Progress` are what the handler returns and reports, as JSON gives it back; they are not checked.
 */
export function useJob<Result = unknown, Progress = unknown>(
  id: string | null | undefined,
  options: ConnectionOption = {},
): JobPoll<Result, Progress> {
  const connection = useConnection(options.connection);
  const known = useSyncExternalStore(
    useCallback(
      (listener: () => void) => (id ? subscribe(connection, id, listener) : nothing),
      [connection, id],
    ),
    () => (id ? snapshot(connection, id) : idle),
    () => (id ? unasked : idle),
  );
  const refresh = useCallback(
    async () => (id ? refreshPoller(connection, id) : undefined),
    [connection, id],
  );
  const cancel = useCallback(async (): Promise<CancelOutcome> => {
    if (!id) return { outcome: "unknown", status: null };
    const outcome = await cancelJob(id, { connection }).catch(
      (error: JobRequestError) => ({ outcome: "error", error }) as const,
    );
    await refreshPoller(connection, id);
    return outcome;
  }, [connection, id]);
  return useMemo(
    () => ({
      job: known.job as JobView<Result, Progress> | null,
      error: known.error,
      isLoading: known.isPolling && known.job === null,
      isPolling: known.isPolling,
      isSettled: known.job !== null && isSettled(known.job),
      refresh,
      cancel,
    }),
    [known, refresh, cancel],
  );
}
