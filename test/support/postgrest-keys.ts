import { createHmac, timingSafeEqual } from "node:crypto";

/** What a token says of its bearer. */
export interface Claims {
  readonly role: string;
  readonly sub?: string;
  /** Seconds since 1970 after which it counts no more. */
  readonly exp?: number;
}

/** Why PostgREST takes no token, in its words. */
export interface Refused {
  readonly code: "PGRST301" | "PGRST303";
  readonly message: string;
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

const signature = (signed: string, secret: string): Buffer =>
  createHmac("sha256", secret).update(signed).digest();

/** A JSON web token by HS256, as Supabase's keys and its users' tokens are. */
export function tokenOf(claims: Claims, secret: string): string {
  const signed = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded(claims)}`;
  return `${signed}.${signature(signed, secret).toString("base64url")}`;
}

/** The claims of a token that the secret signed and that has not expired. */
export function claimsOf(token: string, secret: string): Claims | Refused {
  const [head = "", body = "", tail = "", ...more] = token.split(".");
  const parts = token.split(".").length;
  if (parts !== 3 || more.length > 0) {
    return { code: "PGRST301", message: `Expected 3 parts in JWT; got ${parts}` };
  }
  const [given, own] = [Buffer.from(tail, "base64url"), signature(`${head}.${body}`, secret)];
  if (given.length !== own.length || !timingSafeEqual(given, own)) {
    return { code: "PGRST301", message: "No suitable key or wrong key type" };
  }
  const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as Claims;
  if (claims.exp !== undefined && claims.exp < Date.now() / 1_000) {
    return { code: "PGRST303", message: "JWT expired" };
  }
  return claims;
}
