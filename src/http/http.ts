import { Hono } from "hono";
import { Failure } from "../http-answer.ts";
import type { PayloadSchema } from "../standard-schema.ts";
import { Door } from "./door.ts";
import { drainJobs } from "./drain.ts";
import { healthRoute } from "./health.ts";
import { cancelJob, retryJob, showJob } from "./job.ts";
import { showMetrics } from "./metrics.ts";
import { type HttpOptions, settingsOf } from "./settings.ts";
import { startJob } from "./start.ts";

/** Answers requests; the same function is its own `fetch`, for servers that take an object. */
export interface HttpHandler {
  (request: Request): Promise<Response>;
  fetch(request: Request): Promise<Response>;
}

/** A route by what stands between `/jobs/` and the rest of the path, decoded. */
type Route = (door: Door, request: Request, name: string) => Promise<Response>;

/**
 * The routes of docs/http.md as one function from Request to Response: start, status, cancel, retry,
 * drain, metrics and health, for Next.js, Hono, Deno, Bun or Node. It opens nothing before its first
 * request, and never rejects.
 *
 * Throws LH002 to LH004 for options.
 */
export function http<const Schemas extends readonly PayloadSchema[]>(
  options: HttpOptions<Schemas>,
): HttpHandler {
  const door = new Door(settingsOf(options as unknown as HttpOptions));
  const app = router(door);
  const fetch = async (request: Request): Promise<Response> => {
    const answered = await answerOf(app, door, request);
    const bodiless = request.method === "HEAD" && answered.body !== null;
    return bodiless ? new Response(null, answered) : answered;
  };
  return Object.assign((request: Request) => fetch(request), { fetch });
}

async function answerOf(app: Hono, door: Door, request: Request): Promise<Response> {
  try {
    return await app.fetch(request);
  } catch (thrown) {
    return door.answerTo(thrown);
  }
}

function router(door: Door): Hono {
  const app = new Hono({ strict: false });
  // Paths are matched decoded.
  const basePath = decodeURI(door.settings.basePath);
  for (const [path, methods] of Object.entries(routes())) {
    for (const prefix of suffixesOf(basePath)) {
      app.all(`${prefix}${path}`, (context) => {
        const { method } = context.req.raw;
        const route = methods.get(method);
        if (route === undefined) throw wrongMethod([...methods.keys()]);
        return route(door, context.req.raw, context.req.param("name") ?? "");
      });
    }
  }
  app.notFound(() => {
    throw new Failure(404, "NOT_FOUND", `There is no such route under ${basePath || "/"}.`);
  });
  // Whatever is thrown is answered in one place.
  app.onError((error) => {
    throw error;
  });
  return app;
}

function routes(): Record<string, ReadonlyMap<string, Route>> {
  return {
    "/jobs/:name": new Map<string, Route>([...read(showJob), ["POST", startJob]]),
    "/jobs/:name/cancel": new Map([["POST", cancelJob]]),
    "/jobs/:name/retry": new Map([["POST", retryJob]]),
    // Without HEAD, which must change nothing.
    "/drain": new Map([
      ["GET", drainJobs],
      ["POST", drainJobs],
    ]),
    "/metrics": new Map(read(showMetrics)),
    "/health": new Map(read(healthRoute())),
  };
}

function read(route: Route): [string, Route][] {
  return [
    ["GET", route],
    ["HEAD", route],
  ];
}

/**
 * "/app/api" is also met as "/api" and as "": a proxy or a framework that mounts these routes may have
 * taken any part of the front away.
 */
function suffixesOf(basePath: string): string[] {
  const segments = basePath.split("/").slice(1);
  return [...segments.map((_, i) => `/${segments.slice(i).join("/")}`), ""];
}

function wrongMethod(allowed: readonly string[]): Failure {
  const allow = allowed.join(", ");
  return new Failure(405, "METHOD_NOT_ALLOWED", `Use ${allow}.`, { headers: { allow } });
}
