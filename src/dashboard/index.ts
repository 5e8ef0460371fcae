export type { DashboardAccess, DashboardRole } from "./access.ts";
export { type DashboardHandler, dashboard } from "./dashboard.ts";
export type { DashboardOptions, Redact } from "./settings.ts";
