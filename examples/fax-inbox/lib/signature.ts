import { createHmac, timingSafeEqual } from "node:crypto";

/** How far the sender's clock may be from ours, and how long a signed request can be replayed. */
const toleranceMs = 5 * 60_000;

/** The headers of an announcement. */
export const timestampHeader = "x-webhook-timestamp";
export const signatureHeader = "x-webhook-signature";

/** The signature of a body, sent at `timestamp` (seconds since 1970): HMAC-SHA256 of both, in hex. */
export function sign(secret: string, timestamp: string, body: string | Uint8Array): string {
  return createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
}

/**
 * Whether the headers sign this body under `secret`, now. The time is a part of what is signed, so a
 * request that somebody has caught is of no use to them later.
 */
export function isSigned(secret: string, headers: Headers, body: Uint8Array): boolean {
  const timestamp = headers.get(timestampHeader) ?? "";
  const given = Buffer.from(headers.get(signatureHeader) ?? "");
  const expected = Buffer.from(sign(secret, timestamp, body));
  // The lengths are known to all; where the texts differ must not be told by the time that it takes.
  const isTheirs = given.length === expected.length && timingSafeEqual(given, expected);
  return isTheirs && Math.abs(Date.now() - Number(timestamp) * 1_000) <= toleranceMs;
}
