import type { Change } from "../change.ts";

/**
 * The embedded database is not committed, and the example of variables is: create-next-app ignores
 * every `.env*`.
 */
export function gitignore(envExample: string): Change {
  return {
    path: ".gitignore",
    purpose: "the embedded database",
    whole: false,
    make: (before = "") => ({ text: withLines(before, envExample) }),
  };
}

function withLines(text: string, envExample: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  const has = (pattern: RegExp): boolean => lines.some((line) => pattern.test(line));
  const missing = [
    ...(has(/^(\*\*\/|\/)?\.leasehold(\/(\*\*?)?)?$/) ? [] : [".leasehold/"]),
    ...(has(/^\/?\.env(\.?\*)$/) && !lines.includes(`!${envExample}`) ? [`!${envExample}`] : []),
  ];
  if (missing.length === 0) return text;
  const end = text === "" || text.endsWith("\n") ? text : `${text}\n`;
  return `${end}${end === "" ? "" : "\n"}# leasehold\n${missing.join("\n")}\n`;
}
