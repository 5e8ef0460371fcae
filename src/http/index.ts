export type { Authorize, Authorized } from "./caller.ts";
export { type HttpHandler, http } from "./http.ts";
export type { HttpOptions, ListedJob, StartContext } from "./settings.ts";
