import type { Folder } from "../folder.ts";
import type { Vercel } from "../project.ts";

/** Where the route file answers to a cron. */
export const drainPath = "/api/leasehold/drain";

const modules = ["ts", "mts", "js", "mjs", "cjs"].map((ending) => `vercel.${ending}`);

export function lookForVercel(folder: Folder): Vercel {
  const module = modules.find((path) => folder.isFile(path));
  const text = folder.read(module ?? "vercel.json")?.text ?? "";
  return { module, callsDrain: text.includes(drainPath) };
}
