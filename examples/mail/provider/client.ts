import { Readable } from "node:stream";
import type { LogEntry } from "./play.ts";

/** A refusal of the provider. leasehold reads `status` and `headers` to tell what it means. */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, headers: Headers, message: string) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

export interface FetchOptions {
  /** Who asks; stands in the provider's log. */
  readonly worker: string;
  /** Ends the transfer, also in the middle of the message. */
  readonly signal?: AbortSignal;
}

/** Opens a message; its MIME arrives as the stream is read. Throws ProviderError for a refusal. */
export async function fetchMessage(
  provider: string,
  id: string,
  { worker, signal }: FetchOptions,
): Promise<Readable> {
  const response = await fetch(`${provider}/messages/${encodeURIComponent(id)}/raw`, {
    headers: { "x-worker": worker },
    signal: signal ?? null,
  });
  if (!response.ok || response.body === null) {
    const reason = (await response.text()).trim();
    throw new ProviderError(response.status, response.headers, `${response.status} ${reason}`);
  }
  return Readable.fromWeb(response.body);
}

/** What the demo itself says to the provider: it directs the play and reads the log afterwards. */
export interface ProviderControl {
  /** Announces every message to the webhook; answers how many announcements were accepted. */
  deliver(webhook: string): Promise<number>;
  /** Waits until half of the message is sent and the rest held back; answers who is fetching it. */
  held(id: string): Promise<string>;
  /** Sends the rest of a held message. */
  letGo(id: string): Promise<void>;
  /** Waits until the key was refused once, then gives it its rights. */
  grantRights(): Promise<void>;
  log(): Promise<LogEntry[]>;
}

export function providerControl(provider: string): ProviderControl {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const payload = body === undefined ? null : JSON.stringify(body);
    const response = await fetch(`${provider}${path}`, { method, body: payload });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`);
    return (await response.json()) as T;
  };
  return {
    deliver: async (webhook) =>
      (await call<{ accepted: number }>("POST", "/deliveries", { webhook })).accepted,
    held: async (id) => (await call<{ worker: string }>("GET", `/held/${id}`)).worker,
    letGo: async (id) => void (await call("DELETE", `/held/${id}`)),
    grantRights: async () => void (await call("POST", "/rights")),
    log: () => call("GET", "/log"),
  };
}
