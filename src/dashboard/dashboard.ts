import { FailureNews, isAway } from "../away.ts";
import { describeError, read } from "../describe-error.ts";
import { answer, Failure, isResponse, json, unavailable } from "../http-answer.ts";
import { refuseOtherOrigins } from "../same-origin.ts";
import { type Visitor, visitorOf } from "./access.ts";
import { actions } from "./actions.ts";
import { contentSecurityPolicy, etag, page } from "./page.generated.ts";
import { badRequest, bodyOf } from "./query.ts";
import { reads } from "./reads.ts";
import { type DashboardOptions, type Settings, settingsOf } from "./settings.ts";

/** Answers each request to the dashboard. Never rejects. */
export type DashboardHandler = (request: Request) => Promise<Response>;

/** A form of another site can send no such header, and a script of one would have to ask first. */
const ownHeader = "x-leasehold-dashboard";

/**
 * The page of the queue: a handler from Request to Response, to be mounted under one path of the
 * application, for GET and POST. The page asks under its own address (`?api=…`) alone, so it needs to
 * know neither the path nor what a proxy makes of it; it loads nothing else and asks no other host.
 *
 * Closed unless `authorize` says "admin" or "read"; only an admin may act, and only from the page
 * itself. It calls the public SQL functions and nothing else.
 *
 * Throws LH002 and LH003 for the options.
 */
export function dashboard(options: DashboardOptions): DashboardHandler {
  const settings = settingsOf(options);
  const news = new FailureNews();
  return async (request) => {
    try {
      return withoutBody(request, await route(settings, news, request));
    } catch (thrown) {
      return answerTo(settings, news, thrown);
    }
  };
}

async function route(settings: Settings, news: FailureNews, request: Request): Promise<Response> {
  const visitor = await visitorOf(settings, request);
  const params = new URL(request.url).searchParams;
  const api = params.get("api");
  if (request.method === "POST") return act(settings, request, visitor);
  if (request.method !== "GET" && request.method !== "HEAD") {
    throw new Failure(405, "METHOD_NOT_ALLOWED", "There are GET and POST.", {
      headers: { allow: "GET, HEAD, POST" },
    });
  }
  if (api === null) return pageFor(request);
  if (api === "session") return json(200, { ...visitor, title: settings.title });
  const ask = Object.hasOwn(reads, api) ? reads[api] : undefined;
  if (ask === undefined) throw badRequest("There is no such question.");
  return json(200, { answer: await news.from(ask(settings, params)) });
}

/** The whole page, the same for everybody: who asks, and what may be seen, it asks for. */
function pageFor(request: Request): Response {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": contentSecurityPolicy,
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cache-control": "private, no-cache",
    etag,
  };
  const known = request.headers.get("if-none-match")?.split(/, */) ?? [];
  return known.includes(etag) ? answer(304, null, headers) : answer(200, page, headers);
}

async function act(settings: Settings, request: Request, visitor: Visitor): Promise<Response> {
  refuseOtherOrigins(request, settings.trustedOrigins);
  if (request.headers.get(ownHeader) !== "1") {
    throw new Failure(403, "FORBIDDEN_ORIGIN", `A write brings the header ${ownHeader}: 1.`);
  }
  if (visitor.role !== "admin") {
    throw new Failure(403, "FORBIDDEN", "You may look, and change nothing.");
  }
  const body = await bodyOf(request);
  const { action } = body;
  const run = typeof action === "string" && Object.hasOwn(actions, action) ? actions[action] : null;
  if (!run) throw badRequest("There is no such action.");
  return json(200, { answer: await run(settings, body, visitor) });
}

function withoutBody(request: Request, given: Response): Response {
  return request.method === "HEAD" ? new Response(null, given) : given;
}

/** The answer where something was thrown: of a fault of ours never a word. */
function answerTo({ log }: Settings, news: FailureNews, thrown: unknown): Response {
  if (isResponse(thrown)) return thrown;
  if (thrown instanceof Failure) return thrown.toResponse();
  const code = read(thrown, "code");
  // What the caller asked for can't be: a name that is too long, say.
  if (code === "LH002" || code === "LH003") {
    return badRequest(String(read(thrown, "message"))).toResponse();
  }
  if (news.isNews(thrown)) log.error({ err: describeError(thrown) }, "the dashboard failed");
  if (isAway(thrown)) return unavailable("The database does not answer.", 5).toResponse();
  if (code === "LH007") {
    const message = "The schema is missing or older than this version. Run `leasehold migrate`.";
    return new Failure(503, "SCHEMA", message).toResponse();
  }
  return new Failure(
    500,
    "INTERNAL",
    "Something went wrong; the server's log says what.",
  ).toResponse();
}
