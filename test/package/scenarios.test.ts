import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

/* docs/scenarios.md and the titles of the tests tell the same. */

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(`${root}/${path}`, "utf8");
const page = read("docs/scenarios.md");

const ids = Array.from({ length: 49 }, (_, i) => `S${String(i + 1).padStart(2, "0")}`);

/** There are no schedules yet that it could happen to. */
const withoutTests = ["S19"];

/** The cells of a row of the table; `\|` is no end of one. */
function cellsOf(line: string): string[] {
  const cells = line.split(/(?<!\\)\|/).slice(1, -1);
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}

const rows = page
  .split("\n")
  .filter((line) => /^\| S\d\d /.test(line))
  .map(cellsOf);

/** "`path`: title · title<br>…" as "path: title" each. */
function listedIn(cell: string): string[] {
  if (cell === "none") return [];
  return cell.split("<br>").flatMap((entry) => {
    const [, path, titles = ""] = /^`(.+?)`: (.*)$/.exec(entry) ?? [];
    return titles.split(" · ").map((title) => `${path}: ${title}`);
  });
}

/** The literals of a test file that name scenarios; elsewhere than in titles they have no place. */
function titlesIn(path: string): string[] {
  const code = read(path).replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "");
  const literals = code.matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g);
  return Array.from(literals, ([, double, backtick]) => double ?? backtick ?? "").filter((text) =>
    /\bS\d\d\b/.test(text),
  );
}

/** A title as the table has it: "… (S10, S31)" and "S10: …" without the names. */
function withoutIds(title: string): string {
  return title.replace(/ ?\(S\d\d(, S\d\d)*\)/, "").replace(/^S\d\d: /, "");
}

const testFiles = readdirSync(`${root}/test`, { recursive: true, encoding: "utf8" })
  .map((path) => `test/${path.replaceAll("\\", "/")}`)
  .filter((path) => /\.(test|e2e)\.tsx?$/.test(path) && !path.includes("/node_modules/"))
  .filter((path) => path !== "test/package/scenarios.test.ts");

const named = testFiles.flatMap((path) => titlesIn(path).map((title) => ({ path, title })));

describe("docs/scenarios.md", () => {
  test("has one row for each scenario, in order, with its report and what is done about it", () => {
    expect(rows.map(([id]) => id)).toEqual(ids);
    for (const [id, reported = "", ...others] of rows) {
      expect(reported, id).toMatch(/^.+\. \([\w.-]+\/[\w.-]+#\d+(, [\w.-]+\/[\w.-]+#\d+)*\)$/);
      expect(others, id).toHaveLength(3);
      for (const cell of others) expect(cell, id).not.toBe("");
    }
  });

  test.each(ids)("lists under %s the tests that name it, and no other", (id) => {
    const cell = rows.find(([name]) => name === id)?.[4] ?? "";
    const naming = named
      .filter(({ title }) => new RegExp(`\\b${id}\\b`).test(title))
      .map(({ path, title }) => `${path}: ${withoutIds(title)}`);
    expect(listedIn(cell).sort()).toEqual([...new Set(naming)].sort());
    expect(naming.length === 0).toBe(withoutTests.includes(id));
  });

  test("knows every scenario that a test names", () => {
    const known = named.flatMap(({ title }) => title.match(/\bS\d\d\b/g) ?? []);
    expect([...new Set(known)].sort()).toEqual(ids.filter((id) => !withoutTests.includes(id)));
  });
});
