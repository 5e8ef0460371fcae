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
 * `after`. There is nothing else to export: such a route is dynamic and runs on Node by default, and
 * segment options would be refused by `cacheComponents`.
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
