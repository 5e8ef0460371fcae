import type { FaxPage } from "./page.ts";

/** TIFF 6.0 field types, by the numbers that the format gives them. */
const short = 3;
const long = 4;
const rational = 5;

type Field = readonly [tag: number, type: number, value: number];

/**
 * A little-endian TIFF file with one bit a pixel and PackBits compression: the shape in which fax
 * gateways hand out a page, in the baseline of the format that every reader must know.
 *
 * Layout: header (8 bytes) · pixels · the two resolutions · directory of fields.
 */
export function tiff(page: FaxPage): Buffer {
  const pixels = Buffer.concat(page.rows.map(packBits));
  const padded = Buffer.concat([pixels, Buffer.alloc(pixels.length % 2)]); // fields start even
  const resolutionsAt = 8 + padded.length;
  const resolutions = uint32s(204, 1, 98, 1); // dots an inch of a standard fax: across, down
  const directoryAt = resolutionsAt + resolutions.length;

  const header = Buffer.alloc(8);
  header.write("II*\0", "latin1");
  header.writeUInt32LE(directoryAt, 4);
  const fields: Field[] = [
    [256, long, page.width],
    [257, long, page.height],
    [258, short, 1], // bits a sample
    [259, short, 32773], // PackBits
    [262, short, 0], // white is zero, as on a fax
    [273, long, 8], // where the pixels are
    [277, short, 1], // samples a pixel
    [278, long, page.height], // rows in this strip: all
    [279, long, pixels.length],
    [282, rational, resolutionsAt],
    [283, rational, resolutionsAt + 8],
    [296, short, 2], // the resolution counts inches
  ];
  return Buffer.concat([header, padded, resolutions, directory(fields)]);
}

function directory(fields: readonly Field[]): Buffer {
  const bytes = Buffer.alloc(2 + fields.length * 12 + 4); // the last 4: no further page
  bytes.writeUInt16LE(fields.length, 0);
  for (const [i, [tag, type, value]] of fields.entries()) {
    const at = 2 + i * 12;
    bytes.writeUInt16LE(tag, at);
    bytes.writeUInt16LE(type, at + 2);
    bytes.writeUInt32LE(1, at + 4); // one value of this type
    bytes.writeUInt32LE(value, at + 8); // little-endian: a short lies in the first two bytes
  }
  return bytes;
}

/** Run-length coding of one row: pairs of (1 − n as a signed byte, the byte that occurs n times). */
function packBits(row: Buffer): Buffer {
  const out: number[] = [];
  for (let at = 0; at < row.length; ) {
    const run = runLength(row, at);
    out.push((257 - run) & 0xff, row[at] ?? 0); // n = 1 gives 0: one byte, taken as it is
    at += run;
  }
  return Buffer.from(out);
}

function runLength(row: Buffer, from: number): number {
  let end = from + 1;
  while (end < row.length && end - from < 128 && row[end] === row[from]) end++;
  return end - from;
}

function uint32s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) bytes.writeUInt32LE(value, i * 4);
  return bytes;
}
