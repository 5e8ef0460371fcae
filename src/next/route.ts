import { type HttpOptions, http } from "../http/index.ts";
import type { PayloadSchema } from "../standard-schema.ts";
import { keepAlive } from "./keep-alive.ts";

/** One method of a route handler. */
export type RouteHandler = (request: Request) => Promise<Response>;

/** What a `route.ts` exports. */
export interface RouteHandlers {
  readonly GET: RouteHandler;
  readonly HEAD: RouteHandler;
  readonly POST: RouteHandler;
}

/**
 * The routes of leasehold/http for `app/api/leasehold/[...route]/route.ts`:
 * `export const { GET, HEAD, POST } = route({ leasehold, jobs, authorize })`. Elsewhere, or with a
 * `basePath` in next.config, say where by the option `basePath`. A drain runs behind its answer, by
 * `after`. Beside it a route may export `maxDuration`, as a number, since Next reads it from the file's
 * text; `cacheComponents` allows it. It needs no other segment option: such a route is dynamic and runs
 * on Node by default.
 *
 * Throws LH002 to LH004 as `http` does.
 */
export function route<const Schemas extends readonly PayloadSchema[]>(
  options: HttpOptions<Schemas>,
): RouteHandlers {
  const handler = http({ ...options, keepAlive: options.keepAlive ?? keepAlive });
  const answer: RouteHandler = (request) => handler(request);
  return { GET: answer, HEAD: answer, POST: answer };
}
