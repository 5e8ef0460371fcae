import { lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { attempt, describeError } from "../../describe-error.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { decode, type TextFile } from "./text-file.ts";

/** The files of a project, by paths relative to it, with slashes. Nothing is written here. */
export interface Folder {
  /** Its absolute path, symlinks resolved. */
  readonly root: string;
  /** Undefined where there is nothing. Throws a CliError for what is no text, or can't be read. */
  read(path: string): TextFile | undefined;
  /** Names of files and folders in a folder, sorted; none where there is no such folder. */
  list(path: string): readonly string[];
  isFile(path: string): boolean;
  isFolder(path: string): boolean;
  /**
   * The absolute path at which a file is to be written, symlinks resolved, whether there is one or
   * not; undefined where a symlink leads out of the project, or nowhere.
   */
  place(path: string): string | undefined;
}

/** Throws a CliError where there is no such folder. */
export function openFolder(path: string): Folder {
  const root = attempt(() => realpathSync(path));
  if (root === undefined || !statSync(root).isDirectory()) {
    const hint = "Give the folder of your project, the one with package.json.";
    throw new CliError(exitCodes.failed, `There is no folder ${resolve(path)}.`, hint);
  }
  const at = (path: string): string => join(root, path);
  const stat = (path: string) => attempt(() => statSync(at(path)));
  return {
    root,
    read: (path) => (stat(path) === undefined ? undefined : read(path, at(path))),
    list: (path) => (attempt(() => readdirSync(at(path))) ?? []).sort(),
    isFile: (path) => stat(path)?.isFile() ?? false,
    isFolder: (path) => stat(path)?.isDirectory() ?? false,
    place: (path) => placeIn(root, at(path)),
  };
}

function read(path: string, absolute: string): TextFile {
  try {
    return decode(
      new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(absolute)),
    );
  } catch (cause) {
    const why = cause instanceof TypeError ? "it is no UTF-8 text" : describeError(cause).message;
    const hint = "Nothing was written. Set that right and run init again.";
    throw new CliError(exitCodes.failed, `${path} can't be read: ${why}.`, hint, { cause });
  }
}

function placeIn(root: string, absolute: string): string | undefined {
  if (attempt(() => lstatSync(absolute)) === undefined) {
    const parent = dirname(absolute);
    const place = parent === root ? root : placeIn(root, parent);
    return place === undefined ? undefined : join(place, absolute.slice(parent.length + 1));
  }
  const real = attempt(() => realpathSync(absolute));
  return real !== undefined && isWithin(root, real) ? real : undefined;
}

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && resolve(root, way) === path;
}
