import { blocksOf, pages, type Shown, spansOf, textOf } from "../support/docs.ts";

/** A command line that a page shows, as one types it. */
export interface Line extends Shown {
  readonly page: string;
  /** What it runs, without variables in front of it, and of npx what that runs: "leasehold". */
  readonly program: string;
  /** What stands behind that: a command, where the program is leasehold. */
  readonly command: string;
}

/** Every command line in a block of the shell's. */
export function shellLines(): Line[] {
  const blocks = pages.flatMap(blocksOf).filter(({ language }) => language === "sh");
  return blocks.flatMap(({ place, code }) => {
    const [page, first] = place.split(":");
    return code
      .replaceAll(/\\\n/g, "  ")
      .split("\n")
      .flatMap((line, i) =>
        line.split(" && ").map((code) => lineOf(code, `${page}:${Number(first) + i}`)),
      )
      .filter(({ code }) => code !== "");
  });
}

/** Every `npx leasehold …` in the text. */
export function typedInText(): Line[] {
  const lines = pages.flatMap(spansOf).map(({ code, place }) => lineOf(code, place));
  return lines.filter(({ code }) => /\bnpx leasehold /.test(code));
}

/** Every `leasehold …` in the text, by which a page speaks of a command without showing how to type it. */
export function mentioned(): Shown[] {
  return pages.flatMap(spansOf).filter(({ code }) => /^leasehold [\w-]+/.test(code));
}

/** Blocks that hold a command of leasehold's and are not marked as the shell's. */
export function unmarkedBlocks(): string[] {
  const blocks = pages.flatMap(blocksOf).filter(({ language }) => language !== "sh");
  return blocks.filter(({ code }) => /^npx leasehold/m.test(code)).map(({ place }) => place);
}

/** A command as the table of docs/cli.md has it. */
export interface Listed extends Line {
  /** The options that it lists, in brackets or not. */
  readonly options: readonly string[];
}

/** The commands of the table of docs/cli.md; their lines have what must be given and nothing else. */
export function listed(): Listed[] {
  const page = "docs/cli.md";
  const [before = "", rest = ""] = textOf(page).split(/^\| command \| does \|\n\|---\|---\|\n/m);
  const first = before.split("\n").length + 2;
  const rows = rest.slice(0, rest.indexOf("\n\n")).split("\n");
  return rows.flatMap((row, i) => {
    const [, cell = ""] = row.split("|");
    return [...cell.matchAll(/`([^`]+)`/g)].map(([, usage = ""]) => {
      const options = [...usage.matchAll(/--[a-z][\w-]*/g)].map(([option]) => option);
      return {
        ...lineOf(`npx leasehold ${withoutOptional(usage)}`, `${page}:${first + i}`),
        options,
      };
    });
  });
}

function withoutOptional(usage: string): string {
  const shorter = usage.replaceAll(/ ?\[[^[\]]*\]…?/g, "");
  return shorter === usage ? usage : withoutOptional(shorter);
}

/** Reads a line as far as it must be known here; the shell reads the rest. */
function lineOf(text: string, place: string): Line {
  const code = text.replace(/(^|\s+)#(\s.*)?$/, "").trim();
  const [, program = "", command = ""] =
    /^(?:\w+=\S+ )*(?:npx )?([^\s@;]+)\S*(?: (\S+))?/.exec(code) ?? [];
  return { page: place.replace(/:.*/, ""), place, code, program, command };
}
