import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "../../../describe-error.ts";

export const packageManagers = ["npm", "pnpm", "yarn", "bun"] as const;
export type PackageManager = (typeof packageManagers)[number];

const lockFiles: readonly (readonly [file: string, manager: PackageManager])[] = [
  ["pnpm-lock.yaml", "pnpm"],
  ["yarn.lock", "yarn"],
  ["bun.lock", "bun"],
  ["bun.lockb", "bun"],
  ["package-lock.json", "npm"],
  ["npm-shrinkwrap.json", "npm"],
];

/**
 * By `packageManager` in package.json, else by the lock file; in a workspace both stand in a folder
 * above. The root of a repository is the last one looked into. Where nothing tells, the one by which
 * this program was started (`npm_config_user_agent`), else npm.
 */
export function packageManagerOf(root: string, userAgent = ""): PackageManager {
  for (let folder = root; ; folder = dirname(folder)) {
    const declared = declaredIn(folder);
    const locked = lockFiles.find(([file]) => existsSync(join(folder, file)))?.[1];
    const found = declared ?? locked;
    if (found !== undefined) return found;
    if (existsSync(join(folder, ".git")) || dirname(folder) === folder) {
      return packageManagers.find((name) => userAgent.startsWith(`${name}/`)) ?? "npm";
    }
  }
}

function declaredIn(folder: string): PackageManager | undefined {
  const text = attempt(() => readFileSync(join(folder, "package.json"), "utf8"));
  const { packageManager } = (attempt(() => JSON.parse(text ?? "{}")) ?? {}) as Record<
    string,
    unknown
  >;
  return packageManagers.find((name) => String(packageManager).startsWith(`${name}@`));
}
