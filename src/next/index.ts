export { createLeasehold, type NextLeaseholdOptions } from "./client.ts";
export { type DrainAfterOptions, drainAfter } from "./drain-after.ts";
export { keepAlive } from "./keep-alive.ts";
export { type RouteHandler, type RouteHandlers, route } from "./route.ts";
