import type { Folder } from "../folder.ts";
import type { Next } from "../project.ts";
import type { Packages } from "./packages.ts";

/** `leasehold/next` needs `after`. */
const oldest = [15, 1] as const;

const configs = ["ts", "mts", "mjs", "js", "cjs"].map((ending) => `next.config.${ending}`);

/** Undefined where Next is no dependency. */
export function lookForNext(folder: Folder, packages: Packages): Next | undefined {
  if (!packages.has("next")) return undefined;
  const [major, minor] = packages.version("next") ?? [];
  // Next itself takes app/ where both are there.
  const app = ["app", "src/app"].find((path) => folder.isFolder(path));
  const old = major !== undefined && isOlder([major, minor ?? 0], oldest);
  return {
    version: major === undefined ? undefined : `${major}.${minor}`,
    app: old ? undefined : app,
    withoutApp: whyWithoutApp(old, app),
    config: configs.find((path) => folder.isFile(path)),
    webpack: usesWebpack(major, packages.scripts),
  };
}

function whyWithoutApp(old: boolean, app: string | undefined): string | undefined {
  if (old)
    return `No route: leasehold/next needs Next ${oldest.join(".")}. Upgrade Next, then run init again.`;
  if (app !== undefined) return undefined;
  return "No route: there is no app folder. Make one, which may stand beside pages, then run init again.";
}

/** From 16 on Turbopack is the default of builds. */
function usesWebpack(major: number | undefined, scripts: readonly string[]): boolean {
  const builds = scripts.filter((script) => /\bnext (build|dev)\b/.test(script));
  if (builds.some((script) => script.includes("--webpack"))) return true;
  return major !== undefined && major < 16 && !builds.some((script) => script.includes("--turbo"));
}

function isOlder(one: readonly [number, number], other: readonly [number, number]): boolean {
  return one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
}
