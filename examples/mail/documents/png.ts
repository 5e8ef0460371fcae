import { crc32, deflateSync } from "node:zlib";
import type { FaxPage } from "./page.ts";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A PNG file of the page: one bit a pixel, greyscale, no interlace. */
export function png(page: FaxPage): Buffer {
  const header = Buffer.alloc(13); // the bytes left zero: greyscale, deflate, no filter, no interlace
  header.writeUInt32BE(page.width, 0);
  header.writeUInt32BE(page.height, 4);
  header[8] = 1;
  const pixels = deflateSync(Buffer.concat(page.rows.map(scanline)));
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", pixels),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** A row as PNG has it: a filter byte (0: none), and black is 0 where a fax has 1. */
function scanline(row: Buffer): Buffer {
  return Buffer.concat([Buffer.alloc(1), row.map((byte) => byte ^ 0xff)]);
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
