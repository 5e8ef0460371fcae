"use client";

import { useCallback, useMemo, useSyncExternalStore } from "react";
import type { KindSettings } from "../define.ts";
import type { Input, PayloadSchema } from "../standard-schema.ts";
import { useConnection } from "./provider.ts";
import { type ConnectionOption, type StartOptions, startJob } from "./request.ts";
import type { JobRequestError } from "./request-error.ts";
import { notStarted, Starter, type StartOutcome } from "./starter.ts";

/** The payload of a job definition, or the type itself where it is none. */
export type PayloadOf<Job> = Job extends {
  readonly kind: string;
  readonly schema: infer Schema extends PayloadSchema;
  readonly settings: KindSettings;
}
  ? Input<Schema>
  : Job;

/** What `useStartJob` answers. The same object as long as nothing has changed. */
export interface JobStart<Job = unknown> {
  /**
   * Starts the job with `payload` (JSON). While a start is under way, joins that one and leaves the new
   * payload out: a double click starts one job. Never rejects; the component may be gone by then.
   */
  readonly start: (
    ...given: unknown extends PayloadOf<Job>
      ? [payload?: unknown, options?: StartOptions]
      : [payload: PayloadOf<Job>, options?: StartOptions]
  ) => Promise<StartOutcome>;
  readonly isStarting: boolean;
  /** What the last start came to; null before the first, and while one is under way. */
  readonly answer: StartOutcome | null;
  /**
   * The job to follow: the one started, or the caller's own one that was in the way; else null. Made
   * for `useJob(id)`.
   */
  readonly id: string | null;
  /** Why the last start failed; null otherwise. `in_flight` and `insufficient` are no errors. */
  readonly error: JobRequestError | null;
  /** Forgets the last answer. A start under way goes on. */
  readonly reset: () => void;
}

/**
 * Starts jobs of one kind from a component, one at a time.
 *
 * `Job` is the payload's type, or the definition's: `useStartJob<typeof assess>("assess")` with
 * `import type { assess }` brings no server code along. Another kind or connection begins anew: no
 * answer of the one before is shown.
 */
export function useStartJob<Job = unknown>(
  kind: string,
  options: ConnectionOption = {},
): JobStart<Job> {
  const connection = useConnection(options.connection);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another kind or connection is another starter.
  const starter = useMemo(() => new Starter(), [kind, connection]);
  const state = useSyncExternalStore(starter.subscribe, starter.state, () => notStarted);
  const start = useCallback(
    (payload?: unknown, given: StartOptions = {}) =>
      starter.start(() => startJob(kind, payload, { ...given, connection })),
    [starter, kind, connection],
  );
  return useMemo(() => {
    const { answer, isStarting } = state;
    return {
      start,
      isStarting,
      answer,
      id: answer !== null && "id" in answer ? answer.id : null,
      error: answer?.outcome === "error" ? answer.error : null,
      reset: starter.reset,
    };
  }, [state, start, starter]);
}
