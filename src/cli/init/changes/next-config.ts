import type { Change, Made } from "../change.ts";
import type { Next } from "../project.ts";

/**
 * What must not be bundled. Builds of Next 16 have shown: Turbopack bundles all of leasehold's
 * databases as they should be, and webpack all but PGlite, which then does not find its files.
 */
const external = "@electric-sql/pglite";

const line = `serverExternalPackages: ["${external}"],`;

/** Keeps PGlite out of webpack's bundle. */
export function nextConfig({ config }: Next, typescript: boolean): Change {
  return {
    path: config ?? (typescript ? "next.config.ts" : "next.config.mjs"),
    purpose: "PGlite stays out of the bundle",
    whole: false,
    make: (before) => (before === undefined ? { text: newConfig(typescript) } : edited(before)),
  };
}

/** Into the object that is exported, where it looks like create-next-app's; no other is touched. */
function edited(text: string): Made {
  if (text.includes(external)) return { text };
  const byHand = { because: "has a shape of its own", snippet: line };
  const objects = text.matchAll(/^(?:const|let|var)\s+(\w+)(?:\s*:\s*NextConfig)?\s*=\s*\{/gm);
  const [object, another] = [...objects].filter(([, name]) =>
    new RegExp(`(?:export default|module\\.exports\\s*=)[^;]*\\b${name}\\b`).test(text),
  );
  if (object === undefined || another !== undefined) return byHand;
  const open = object.index + object[0].length;
  const [rest = ""] = /^[ \t]*(?:\}|\n[ \t]*)/.exec(text.slice(open)) ?? [];
  if (rest === "" || text.includes("serverExternalPackages")) return byHand;
  const [, indent = ""] = /\n([ \t]+)$/.exec(rest) ?? [];
  const close = rest.endsWith("}") ? "\n" : "";
  return { text: `${text.slice(0, open)}\n${indent || "  "}${line}${close}${text.slice(open)}` };
}

function newConfig(typescript: boolean): string {
  const head = typescript
    ? 'import type { NextConfig } from "next";\n\nconst nextConfig: NextConfig = {'
    : "/** @type {import('next').NextConfig} */\nconst nextConfig = {";
  return `${head}\n  ${line}\n};\n\nexport default nextConfig;\n`;
}
