import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { needed } from "./environment.ts";
import { answerWithin } from "./patience.ts";
import { timing } from "./timing.ts";

/**
 * A refusal of the mail provider. leasehold reads `status` and `headers`: by them it tells whether the
 * job is tried again, and when, fails now, or is given back.
 */
export class ProviderError extends Error {
  override readonly name = "ProviderError";
  readonly status: number;
  readonly headers: Headers;

  constructor({ status, headers }: Response, reason: string) {
    super(`the mail provider answered ${status}: ${reason}`);
    this.status = status;
    this.headers = headers;
  }
}

/** Opens a message; its MIME arrives as the stream is read. Throws ProviderError for a refusal. */
export async function openMessage(emailId: string, signal: AbortSignal): Promise<Readable> {
  const url = `${needed("MAIL_PROVIDER_URL")}/messages/${encodeURIComponent(emailId)}/raw`;
  // The limit is for the answer to begin: how long a message takes is a matter of the drain's budget,
  // whose end aborts `signal`, and so the stream.
  const response = await answerWithin(timing.answerMs, signal, (within) =>
    fetch(url, { signal: within }),
  );
  if (!response.ok || response.body === null) {
    const reason = await response.text().catch(() => "");
    throw new ProviderError(response, reason.trim().slice(0, 200));
  }
  return Readable.fromWeb(response.body as ReadableStream);
}
