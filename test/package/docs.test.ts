import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { errorCodes } from "../../src/errors.ts";
import { blocksOf, pages } from "../support/docs.ts";

/** The blocks of code in one language, with a name of a file for each. */
function blocks(language: string): { name: string; code: string }[] {
  return pages.flatMap((page) =>
    blocksOf(page)
      .filter((block) => block.language === language)
      .map(({ code }, i) => ({ name: `${page.replace(/\W/g, "-")}-${i + 1}`, code })),
  );
}

let folder: string;

beforeAll(() => {
  // Inside the repository, so that its packages are found.
  mkdirSync("node_modules/.cache", { recursive: true });
  folder = mkdtempSync(resolve("node_modules/.cache/docs-"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the documentation", () => {
  it("has examples that compile", () => {
    const languages = ["ts", "tsx"];
    const examples = languages.map((language) => ({ language, found: blocks(language) }));
    for (const { language, found } of examples) {
      expect(found.length).toBeGreaterThan(2);
      for (const { name, code } of found) {
        writeFileSync(join(folder, `${name}-${language}.${language}`), code);
      }
    }
    const typeRoots = [resolve("node_modules/@types")];
    const config = {
      extends: resolve("tsconfig.json"),
      compilerOptions: { paths: sourcePaths(), typeRoots, jsx: "react-jsx" },
      include: [folder],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    expect(compile(join(folder, "tsconfig.json"))).toBe("");
  });

  it("explains every error code under a heading of its own", () => {
    const text = readFileSync("docs/errors.md", "utf8");
    const headings = [...text.matchAll(/^## (LH\d{3})$/gm)].map((match) => match[1]);
    expect(headings).toEqual(Object.keys(errorCodes));
  });

  it("lists every page in the README and in llms.txt", () => {
    for (const list of ["README.md", "llms.txt"]) {
      const text = readFileSync(list, "utf8");
      const missing = pages.filter((page) => page.startsWith("docs/") && !text.includes(page));
      expect(missing, list).toEqual([]);
    }
  });

  it("links only to files that exist", () => {
    const broken = [...pages, "ARCHITECTURE.md", "CONTRIBUTING.md", "llms.txt"].flatMap((page) =>
      [...readFileSync(page, "utf8").matchAll(/\]\((?!https?:)([^)#]+)[^)]*\)/g)]
        .map((match) => resolve(page, "..", match[1] ?? ""))
        .filter((path) => !exists(path)),
    );
    expect(broken).toEqual([]);
  });
});

function sourcePaths(): Record<string, string[]> {
  return { leasehold: [resolve("src/index.ts")], "leasehold/*": [resolve("src/*/index.ts")] };
}

function compile(config: string): string {
  try {
    return execFileSync("npx", ["tsc", "--noEmit", "-p", config], { encoding: "utf8" });
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout);
  }
}

function exists(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EISDIR";
  }
}
