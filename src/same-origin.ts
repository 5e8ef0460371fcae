import { Failure } from "./http-answer.ts";

/**
 * Refuses what a page of another site makes a browser send, with the user's cookies along. A browser
 * says where such a request comes from, by Origin and Sec-Fetch-Site, and no page can forge either; a
 * request with neither comes from no page (curl, a server), and brings only what its sender has.
 *
 * Its own is an origin whose host is that of the URL or of the Host header, since some servers make the
 * URL from where they listen. A page can't choose Host. X-Forwarded-Host is not looked at: not every
 * proxy removes what a client sends, so hosts that only a proxy knows go into `trustedOrigins`. The
 * Origin may be https where the URL is http: TLS often ends before the process.
 */
export function refuseOtherOrigins(request: Request, trusted: ReadonlySet<string>): void {
  const origin = request.headers.get("origin");
  if (origin !== null && trusted.has(origin)) return;
  const site = request.headers.get("sec-fetch-site") ?? "none";
  if (site !== "same-origin" && site !== "none") throw foreign();
  if (origin !== null && !isOwn(origin, request)) throw foreign();
}

function isOwn(origin: string, request: Request): boolean {
  const given = parsed(origin);
  const url = parsed(request.url);
  if (given === undefined || url === undefined || given.origin !== origin) return false;
  if (given.protocol !== url.protocol && given.protocol !== "https:") return false;
  const host = request.headers.get("host");
  const named = host === null ? undefined : parsed(`${given.protocol}//${host}`);
  return given.host === url.host || given.host === named?.host;
}

/** "null", as a sandboxed page sends it, is none. */
function parsed(url: string): URL | undefined {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

function foreign(): Failure {
  return new Failure(
    403,
    "FORBIDDEN_ORIGIN",
    "The request comes from a page of another origin. If it is one of yours, or a proxy changes the Host header, name the origin in `trustedOrigins`.",
  );
}
