import { posix } from "node:path";
import type { Code } from "./project.ts";

/** How `from` imports the module `to`, both without an ending: "@/lib/jobs", "./jobs", "../lib/jobs.js". */
export function importPath({ aliases, importEnding }: Code, from: string, to: string): string {
  const way = posix.relative(posix.dirname(from), to);
  const relative = way.startsWith(".") ? way : `./${way}`;
  const alias = aliases.find(({ folder }) => to.startsWith(folder));
  // Neighbours are near enough without.
  if (alias !== undefined && relative.startsWith("../"))
    return alias.prefix + to.slice(alias.folder.length);
  return `${relative}${importEnding}`;
}
