/** A strong ETag of an answer's body. */
export async function etagOf(body: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(body));
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0"));
  return `"${hex.join("").slice(0, 32)}"`;
}

/** Whether If-None-Match names `etag`. Weak tags match too: proxies that compress make tags weak. */
export function isMatch(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  const named: readonly string[] = ifNoneMatch.match(/"[^"]*"/g) ?? [];
  return ifNoneMatch.trim() === "*" || named.includes(etag);
}
