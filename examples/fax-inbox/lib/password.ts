import { createHash, createHmac, timingSafeEqual } from "node:crypto";

/** How long a sign-in lasts. */
export const signedInMs = 12 * 3_600_000;

/** The password of the admin page. Undefined, and the page closed, where ADMIN_PASSWORD is not set. */
export function adminPassword(): string | undefined {
  return process.env.ADMIN_PASSWORD || undefined;
}

/** Whether this is the password. The time that it takes tells nothing of it, not even its length. */
export function isPassword(given: string): boolean {
  const password = adminPassword();
  if (password === undefined) return false;
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(password));
}

/** What a browser keeps to show that it knew the password: until when, signed with the password. */
export function ticket(password: string, until: number = Date.now() + signedInMs): string {
  const signature = createHmac("sha256", password).update(`fax-inbox admin ${until}`);
  return `${until}.${signature.digest("base64url")}`;
}

/** Whether the ticket is ours and still good. Another password makes an end of all of them. */
export function isTicket(given: string): boolean {
  const password = adminPassword();
  const until = Number(/^(\d{1,15})\./.exec(given)?.[1]);
  if (password === undefined || !(until > Date.now())) return false;
  const expected = Buffer.from(ticket(password, until));
  const brought = Buffer.from(given);
  return brought.length === expected.length && timingSafeEqual(brought, expected);
}
