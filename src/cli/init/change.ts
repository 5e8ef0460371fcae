/** What a change makes of a file: the text that is to stand in it, or what a person is to do. */
export type Made = { readonly text: string } | ByHand;

/** An edit that is not init's to make: the file has a shape of its own. */
export interface ByHand {
  /** Why, as the end of a sentence that begins with the file's path. */
  readonly because: string;
  /** What to write there; "" where there is nothing to write. */
  readonly snippet: string;
}

/** One file that init cares for. */
export interface Change {
  /** In the project, with slashes. */
  readonly path: string;
  /** What the file is for, in a few words. */
  readonly purpose: string;
  /**
   * Whether the whole text is init's: then a file that differs is somebody's own by now and stays as
   * it is. Else init adds to whatever is there.
   */
  readonly whole: boolean;
  /**
   * From the present text (without byte order mark, lines ended by \n; undefined where there is no
   * file). Answers the same text where nothing is to be done. Throws a CliError where the file is broken.
   */
  make(before: string | undefined): Made;
}

/** A file that is init's as a whole. */
export function wholeFile(path: string, purpose: string, text: string): Change {
  return { path, purpose, whole: true, make: () => ({ text }) };
}

/** A file that is right as it is. */
export function inPlace(path: string, purpose: string): Change {
  return { path, purpose, whole: false, make: (before = "") => ({ text: before }) };
}
