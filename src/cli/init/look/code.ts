import { posix } from "node:path";
import type { Folder } from "../folder.ts";
import type { Alias, Code, Next } from "../project.ts";
import { parseJsonc } from "./jsonc.ts";
import type { Packages } from "./packages.ts";

/** Where projects keep modules like db.ts, the likeliest first. */
const likely = ["lib", "server", "utils"];

interface Config {
  readonly extends?: unknown;
  readonly compilerOptions?: {
    readonly baseUrl?: string;
    readonly paths?: Record<string, readonly string[]>;
    readonly module?: string;
    readonly moduleResolution?: string;
    readonly allowImportingTsExtensions?: boolean;
    readonly rewriteRelativeImportExtensions?: boolean;
  };
}

/** How the project writes its own code, which Next's bundler links where `next` is given. */
export function lookAtCode(folder: Folder, packages: Packages, next: Next | undefined): Code {
  const typescript = folder.isFile("tsconfig.json") || packages.has("typescript");
  const configs = configChain(folder, typescript ? "tsconfig.json" : "jsconfig.json");
  const ending = typescript ? "ts" : next !== undefined || packages.esm ? "js" : "mjs";
  return {
    typescript,
    esm: packages.esm,
    ending,
    importEnding: next !== undefined ? "" : importEnding(ending, configs),
    folder: codeFolder(folder, next),
    aliases: aliasesOf(configs),
  };
}

function codeFolder(folder: Folder, next: Next | undefined): string {
  const inSrc = next?.app === undefined ? folder.isFolder("src") : next.app.startsWith("src/");
  const base = inSrc ? "src/" : "";
  const candidates = [...likely.map((name) => `${base}${name}`), `${base}app/lib`];
  return candidates.find((path) => folder.isFolder(path)) ?? `${base}lib`;
}

/** Each configuration with its path, the nearest first. Those of other projects are left alone. */
function configChain(folder: Folder, path: string, depth = 0): [path: string, config: Config][] {
  const text = depth < 5 && !path.startsWith("..") ? folder.read(path)?.text : undefined;
  const config = text === undefined ? undefined : (parseJsonc(text) as Config | null | undefined);
  if (config === undefined || config === null || typeof config !== "object") return [];
  const bases = [config.extends].flat().filter((base) => typeof base === "string");
  const further = bases
    .filter((base) => base.startsWith("."))
    .reverse()
    .map((base) => posix.join(posix.dirname(path), base.endsWith(".json") ? base : `${base}.json`));
  return [[path, config], ...further.flatMap((base) => configChain(folder, base, depth + 1))];
}

/** Of `paths`, those that stand for a folder. The nearest configuration that has any counts alone. */
function aliasesOf(configs: readonly [path: string, config: Config][]): Alias[] {
  for (const [path, { compilerOptions: { paths, baseUrl = "." } = {} }] of configs) {
    if (typeof paths !== "object") continue;
    const base = posix.join(posix.dirname(path), baseUrl);
    return Object.entries(paths).flatMap(([pattern, targets]) => {
      const [target] = Array.isArray(targets) ? targets : [];
      if (typeof target !== "string" || !/^.+\/\* (.*\/)?\*$/.test(`${pattern} ${target}`))
        return [];
      const folder = posix.join(base, target.slice(0, -1), "/");
      return [{ prefix: pattern.slice(0, -1), folder: folder === "./" ? "" : folder }];
    });
  }
  return [];
}

/** Where Node itself links modules, a relative import has its ending. */
function importEnding(
  ending: Code["ending"],
  configs: readonly [path: string, config: Config][],
): Code["importEnding"] {
  if (ending !== "ts") return `.${ending}`;
  const chain = configs.map(([, { compilerOptions }]) => compilerOptions ?? {}).reverse();
  const options: NonNullable<Config["compilerOptions"]> = Object.assign({}, ...chain);
  if (options.allowImportingTsExtensions || options.rewriteRelativeImportExtensions) return ".ts";
  const resolution = String(options.moduleResolution ?? options.module ?? "").toLowerCase();
  return /^node(16|18|20|next)$/.test(resolution) ? ".js" : "";
}
