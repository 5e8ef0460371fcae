export { type MigrateOptions, type MigrateResult, migrate } from "./migrate.ts";
export { renderSql, schemaVersion } from "./render.ts";
export type { RenderOptions } from "./script.ts";
export { renderWakeups, type WakeupOptions } from "./wakeups.ts";
