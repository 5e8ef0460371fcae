/** A file's text with what must survive an edit: its byte order mark and its ends of lines. */
export interface TextFile {
  /** Without byte order mark. Lines end with \n, save in a file of both sorts, which stays as it is. */
  readonly text: string;
  readonly bom: boolean;
  /** Every line ended with \r\n. */
  readonly crlf: boolean;
}

/** What a new file is written like. */
export const plain: Omit<TextFile, "text"> = { bom: false, crlf: false };

export function decode(raw: string): TextFile {
  const bom = raw.startsWith("\ufeff");
  const body = bom ? raw.slice(1) : raw;
  const crlf = body.includes("\r\n") && !/(?<!\r)\n/.test(body);
  return { text: crlf ? body.replaceAll("\r\n", "\n") : body, bom, crlf };
}

/** The text as it is written into a file like `like`; of an unchanged text, the very file. */
export function encode(text: string, like: Omit<TextFile, "text">): string {
  return (like.bom ? "\ufeff" : "") + (like.crlf ? text.replaceAll("\n", "\r\n") : text);
}

/** Whether two texts differ by the ends of their lines at most. */
export function isSameText(one: string, other: string): boolean {
  return one.replaceAll("\r\n", "\n") === other.replaceAll("\r\n", "\n");
}
