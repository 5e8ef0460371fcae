import type { ByHand, Change } from "./change.ts";
import type { Folder } from "./folder.ts";
import { encode, isSameText, plain, type TextFile } from "./text-file.ts";

/** What becomes of a file. */
export interface Decision {
  readonly path: string;
  readonly purpose: string;
  /**
   * "create" and "edit" are written. "none": it is right as it is. "keep": a file that init would
   * write as a whole is there and differs, so it stays unless a person says otherwise. "by hand": see
   * `byHand`.
   */
  readonly action: "create" | "edit" | "none" | "keep" | "by hand";
  /** The absolute path that is written, symlinks resolved. */
  readonly place: string;
  /** Undefined where there is no file. */
  readonly before: TextFile | undefined;
  /** What would stand in the file, byte for byte as UTF-8. */
  readonly after: string;
  readonly byHand: ByHand | undefined;
}

/** Reads every file that is concerned, and writes none. Throws what reading and changes throw. */
export function decide(folder: Folder, changes: readonly Change[]): Decision[] {
  return changes.map((change) => decideOne(folder, change));
}

function decideOne(folder: Folder, { path, purpose, whole, make }: Change): Decision {
  const place = folder.place(path);
  if (place === undefined) return left({ path, purpose }, throughSymlink);
  const before = folder.read(path);
  const made = make(before?.text);
  if ("because" in made) return { ...left({ path, purpose }, made), place, before };
  const after = encode(made.text, before ?? plain);
  const own = { path, purpose, place, before, after, byHand: undefined };
  if (before === undefined) return { ...own, action: "create" };
  if (isSameText(before.text, made.text)) return { ...own, action: "none" };
  return { ...own, action: whole ? "keep" : "edit" };
}

const throughSymlink: ByHand = {
  because: "leads out of the project, or nowhere, by a symlink",
  snippet: "",
};

function left(named: Pick<Decision, "path" | "purpose">, byHand: ByHand): Decision {
  return { ...named, action: "by hand", place: "", before: undefined, after: "", byHand };
}

/** Whether it is to be written. */
export function isWritten({ action }: Decision): boolean {
  return action === "create" || action === "edit";
}
