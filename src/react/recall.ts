import type { Connection } from "./connection.ts";
import { isSettled, type JobView } from "./job-view.ts";
import { pauseMs } from "./pause.ts";
import { type Answer, fetchJob } from "./request.ts";
import { JobRequestError } from "./request-error.ts";

/** What another library's cache can't keep for us: the ETag, and how long to wait. */
interface Recalled {
  readonly answer: Answer | null;
  readonly asked: number;
  /** Drawn once for each request: a library that asks for it at every render must get the same. */
  readonly pauseMs: number;
}

/** How many jobs of a connection are recalled; one that is forgotten costs a whole answer. */
const most = 100;

const recalled = new WeakMap<Connection, Map<string, Recalled>>();

/** Asks for a job with the ETag of the last answer. Rejects as `fetchJob`. */
export async function askAgain(
  connection: Connection,
  id: string,
  signal?: AbortSignal,
): Promise<JobView> {
  const before = memory(connection).get(id);
  const last = before?.answer ?? null;
  const asked = before === undefined || (last && isSettled(last.job)) ? 0 : before.asked + 1;
  try {
    const answer = await fetchJob(connection, id, last, signal);
    const pause = pauseMs(connection, asked, answer.retryAfterMs);
    remember(connection, id, { answer, asked, pauseMs: pause });
    return answer.job;
  } catch (error) {
    const retryAfterMs = error instanceof JobRequestError ? error.retryAfterMs : 0;
    const pause = pauseMs(connection, asked, retryAfterMs);
    remember(connection, id, { answer: last, asked, pauseMs: pause });
    throw error;
  }
}

/** How long to wait before the job is asked for again, in milliseconds. */
export function recalledPauseMs(connection: Connection, id: string): number {
  return memory(connection).get(id)?.pauseMs ?? connection.firstPauseMs;
}

function memory(connection: Connection): Map<string, Recalled> {
  const known = recalled.get(connection) ?? new Map<string, Recalled>();
  recalled.set(connection, known);
  return known;
}

/** Puts it at the end, and lets the one go that was asked for longest ago. */
function remember(connection: Connection, id: string, value: Recalled): void {
  const known = memory(connection);
  known.delete(id);
  known.set(id, value);
  const [oldest] = known.keys();
  if (known.size > most && oldest !== undefined) known.delete(oldest);
}
