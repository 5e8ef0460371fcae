import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { describe, expect, it } from "vitest";

const src = resolve("src");

/** Which folders of src a folder may import, beside itself and the core. */
const allowed: Record<string, readonly string[]> = {
  pg: [],
  pglite: [],
  postgres: [],
  supabase: [],
  schema: [],
  http: [],
  dashboard: [],
  next: ["http"],
  otel: [],
  react: [],
  cli: ["dashboard", "pg", "pglite", "schema"],
};

/** The one file of the core that loads folders, by dynamic import, when no database is given. */
const loader = "default-database.ts";

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) =>
  file.endsWith(".ts"),
);

function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), "utf8");
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1] ?? "");
}

/** The folder below src that a path lies in; "" for the core. */
function roomOf(path: string): string {
  const [first = "", ...rest] = relative(src, path).split(sep);
  return rest.length === 0 ? "" : first;
}

describe("the direction of imports", () => {
  it("knows every folder of src", () => {
    const folders = new Set(files.map((file) => roomOf(join(src, file))).filter(Boolean));
    expect([...folders].filter((folder) => !(folder in allowed))).toEqual([]);
  });

  it.each(files)("%s imports only what its folder may", (file) => {
    const own = roomOf(join(src, file));
    const rooms = importsOf(file)
      .filter((specifier) => specifier.startsWith("."))
      .map((specifier) => roomOf(resolve(src, dirname(file), specifier)));
    const foreign = rooms.filter((room) => room !== "" && room !== own);
    const may = own === "" ? (file === loader ? Object.keys(allowed) : []) : allowed[own];
    expect(foreign.filter((room) => !may?.includes(room))).toEqual([]);
  });

  it("keeps the core free of Node's own modules but where it makes the embedded folder", () => {
    const users = files
      .filter((file) => roomOf(join(src, file)) === "" && file !== loader)
      .filter((file) => importsOf(file).some((specifier) => specifier.startsWith("node:")));
    expect(users).toEqual([]);
  });
});
