import { existsSync, readFileSync } from "node:fs";

/** Where packages are installed: those of the rivals first. */
const folders = ["../rivals/node_modules/", "../../node_modules/"];

/**
 * The installed versions of packages; of leasehold its own. What leasehold uses is the root's, what
 * rivals use their own: where both have one, `packages` of a rival are looked up among the rivals'.
 */
export function versionsOf(packages: readonly string[]): Record<string, string> {
  const isOwn = packages.includes("leasehold") || packages.every((name) => name === "pg");
  const from = isOwn ? [...folders].reverse() : folders;
  return Object.fromEntries(packages.map((name) => [name, versionOf(name, from)]));
}

function versionOf(name: string, from: readonly string[]): string {
  const files =
    name === "leasehold" ? ["../../package.json"] : from.map((at) => at + packageFile(name));
  const found = files
    .map((file) => new URL(file, import.meta.url))
    .find((file) => existsSync(file));
  if (found === undefined) return "not installed";
  return (JSON.parse(readFileSync(found, "utf8")) as { version: string }).version;
}

function packageFile(name: string): string {
  return `${name}/package.json`;
}
