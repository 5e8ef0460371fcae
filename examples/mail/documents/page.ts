import { createHash } from "node:crypto";

/** A page as a fax machine scans it: one bit a pixel, 1 is black, each row padded to whole bytes. */
export interface FaxPage {
  readonly width: number;
  readonly height: number;
  /** `height` rows of `width / 8` bytes. */
  readonly rows: readonly Buffer[];
}

const width = 1728; // what a fax scans across A4
const lineHeight = 24;
const inkHeight = 14;

/**
 * Draws a page whose lines of "words" depend on the seed alone, so that the provider and the checks
 * in another process make the same bytes without sending them to each other.
 */
export function faxPage(seed: string, lines = 30): FaxPage {
  const blank = Buffer.alloc(width / 8);
  const rows: Buffer[] = [];
  for (let line = 0; line < lines; line++) {
    const ink = inkedRow(seededBytes(`${seed}/${line}`, 24));
    for (let y = 0; y < lineHeight; y++) rows.push(y < inkHeight ? ink : blank);
  }
  return { width, height: rows.length, rows };
}

/** One row of words: each byte of `noise` is the length of one word, in bytes of eight pixels. */
function inkedRow(noise: Buffer): Buffer {
  const row = Buffer.alloc(width / 8);
  let x = 12;
  for (const value of noise) {
    const length = 2 + (value % 11);
    if (x + length > row.length - 12) break;
    row.fill(0xff, x, x + length);
    x += length + 2;
  }
  return row;
}

/** Any number of bytes that look random and depend on the seed alone. */
export function seededBytes(seed: string, length: number): Buffer {
  return createHash("shake256", { outputLength: length }).update(seed).digest();
}
