/** Longest file name in bytes: most file systems stop at 255, and the position goes in front. */
const maximumBytes = 120;

/**
 * Makes a file name out of whatever a sender wrote. Nothing of it can leave the folder, hide the
 * file or be refused by a common file system; letters of any script stay as they are.
 *
 * Two names may become one, and names may differ in case alone: the caller puts the position of the
 * attachment in front.
 */
export function safeName(filename: string): string {
  const name = filename
    .toWellFormed()
    .normalize("NFC")
    // Separators of any system, what Windows refuses, control and invisible formatting characters
    // (among them those that reverse the direction of reading and so hide an extension).
    .replace(/[\\/:*?"<>|\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "_")
    .replace(/^[.\s]+|[.\s]+$/g, "");
  return shorten(name === "" ? "attachment" : name);
}

/** Cuts the middle part and keeps the extension, between characters and never inside one. */
function shorten(name: string): string {
  const extension = /\.[^.]{1,10}$/u.exec(name)?.[0] ?? "";
  let stem = name.slice(0, name.length - extension.length);
  while (Buffer.byteLength(stem + extension) > maximumBytes) {
    stem = [...stem].slice(0, -1).join("");
  }
  return (stem + extension).trimEnd();
}
