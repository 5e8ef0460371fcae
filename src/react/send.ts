import type { Connection } from "./connection.ts";
import { retryAfterMs } from "./pause.ts";
import { JobRequestError } from "./request-error.ts";

/** What came back. */
export interface Received {
  readonly response: Response;
  readonly text: string;
  /** The Retry-After header, in milliseconds. */
  readonly pause: number;
}

/** What a request adds to the connection's own. */
export interface Sent {
  method?: "POST";
  headers?: Record<string, string>;
  body?: string;
  cache?: "no-store";
}

/**
 * Makes one request. Whatever the server answers is an answer; rejects with `NETWORK` where it does
 * not, or not in time, and with the signal's reason when that aborts.
 */
export async function send(
  connection: Connection,
  path: string,
  sent: Sent,
  signal?: AbortSignal,
): Promise<Received> {
  signal?.throwIfAborted();
  const abort = new AbortController();
  const stop = () => abort.abort();
  signal?.addEventListener("abort", stop, { once: true });
  // A laptop that slept leaves sockets behind on which no answer ever comes.
  const timer = setTimeout(stop, connection.timeoutMs);
  try {
    return await Promise.race([receive(connection, path, sent, abort.signal), end(abort.signal)]);
  } catch (cause) {
    signal?.throwIfAborted();
    const message = abort.signal.aborted
      ? `No answer within ${connection.timeoutMs} ms`
      : `No answer: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new JobRequestError({ code: "NETWORK", message, status: null, cause });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}

async function receive(
  { headers, basePath, fetch }: Connection,
  path: string,
  sent: Sent,
  signal: AbortSignal,
): Promise<Received> {
  const all = { accept: "application/json", ...(await headers()), ...sent.headers };
  const response = await fetch(basePath + path, { ...sent, headers: all, signal });
  const pause = retryAfterMs(response.headers.get("retry-after"));
  return { response, text: await response.text(), pause };
}

/** Rejects at the abort, for headers that never come and a `fetch` that does not heed its signal. */
function end(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
