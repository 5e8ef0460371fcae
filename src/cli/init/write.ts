import { randomBytes } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { attempt, describeError } from "../../describe-error.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { Decision } from "./decide.ts";
import { encode } from "./text-file.ts";

/** A file's new text, written beside its place. */
interface Draft {
  readonly decision: Decision;
  readonly path: string;
  /** The first of the folders that were made for it. */
  readonly folder: string | undefined;
}

/**
 * Writes the files: first a draft of each beside its place, and only once all are there, each takes its
 * place by a rename, at once or not at all. What is wanting (rights, room on the disk) is so found out
 * before any file is touched.
 *
 * Throws a CliError that names what was and what was not written.
 */
export function write(decisions: readonly Decision[]): void {
  const drafts: Draft[] = [];
  try {
    for (const decision of decisions) {
      orFail(decision, [], decisions, () => drafts.push(drafted(decision)));
    }
  } catch (error) {
    drafts.reverse().forEach(discard);
    throw error;
  }
  drafts.forEach(({ decision, path }, i) => {
    try {
      const [done, rest] = [decisions.slice(0, i), decisions.slice(i)];
      orFail(decision, done, rest, () => renameSync(path, decision.place));
    } catch (error) {
      drafts.slice(i).reverse().forEach(discard);
      throw error;
    }
  });
}

function drafted(decision: Decision): Draft {
  const { place, before, after } = decision;
  checkUnchanged(place, before && encode(before.text, before));
  // A rename would pass by the rights of the file itself.
  if (before !== undefined) closeSync(openSync(place, "r+"));
  const mode = (attempt(() => statSync(place).mode) ?? 0o666) & 0o777;
  const path = join(dirname(place), `.leasehold-init-${randomBytes(6).toString("hex")}`);
  const draft = { decision, path, folder: mkdirSync(dirname(place), { recursive: true }) };
  try {
    writeFileSync(path, after, { flag: "wx", mode });
    return draft;
  } catch (error) {
    discard(draft);
    throw error;
  }
}

/** Somebody may have written meanwhile, while questions were asked. */
function checkUnchanged(place: string, before: string | undefined): void {
  const present = attempt(() => readFileSync(place, "utf8"));
  if (present !== before) throw new Error("it was changed meanwhile");
}

/** Takes the draft away, and the folders that were made for it as far as they are empty. */
function discard({ path, folder }: Draft): void {
  attempt(() => rmSync(path, { force: true }));
  if (folder === undefined) return;
  for (let each = dirname(path); each.startsWith(folder); each = dirname(each)) {
    if (attempt(() => rmdirSync(each) ?? true) === undefined) return;
  }
}

function orFail(
  { path }: Decision,
  done: readonly Decision[],
  rest: readonly Decision[],
  act: () => void,
): void {
  try {
    act();
  } catch (cause) {
    const names = (list: readonly Decision[]): string => list.map((each) => each.path).join(", ");
    const written = done.length === 0 ? "Nothing was written." : `Written: ${names(done)}.`;
    throw new CliError(
      exitCodes.failed,
      `${path} can't be written: ${describeError(cause).message}.`,
      `${written} Not written: ${names(rest)}. Set that right and run init again.`,
      { cause },
    );
  }
}
