import { readdirSync, readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);

/** The pages that users read, by their paths from the root of the repository. */
export const pages: readonly string[] = [
  ...namesIn(".", /^README.*\.md$/),
  ...namesIn("docs", /\.md$/).map((name) => `docs/${name}`),
  ...namesIn("examples", /^/).map((name) => `examples/${name}/README.md`),
];

/** What a page shows as code, and where: `docs/cli.md:4`. */
export interface Shown {
  readonly place: string;
  readonly code: string;
}

/** A block of code between fences. */
export interface Block extends Shown {
  readonly page: string;
  /** What stands behind the fence, "" for nothing. */
  readonly language: string;
}

/** The text of a page. */
export function textOf(page: string): string {
  return readFileSync(new URL(page, root), "utf8");
}

const fenced = /^```(\w*)\n([\s\S]*?)^```$/gm;

/** The blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const text = textOf(page);
  return [...text.matchAll(fenced)].map(({ index, 1: language = "", 2: code = "" }) => {
    return { page, language, code, place: placeOf(page, text, index + 4 + language.length) };
  });
}

/** What stands between backticks in the text of a page, in its order. */
export function spansOf(page: string): Shown[] {
  const text = textOf(page).replaceAll(fenced, (block) => block.replaceAll(/[^\n]/g, " "));
  return [...text.matchAll(/`([^`\n]+)`/g)].map(({ index, 1: code = "" }) => {
    return { code, place: placeOf(page, text, index) };
  });
}

function placeOf(page: string, text: string, index: number): string {
  return `${page}:${text.slice(0, index).split("\n").length}`;
}

function namesIn(folder: string, pattern: RegExp): string[] {
  return readdirSync(new URL(folder, root))
    .filter((name) => pattern.test(name))
    .sort();
}
