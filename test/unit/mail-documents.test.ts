import { crc32, inflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { faxPage, seededBytes } from "../../examples/mail/documents/page.ts";
import { pdf } from "../../examples/mail/documents/pdf.ts";
import { png } from "../../examples/mail/documents/png.ts";
import { tiff } from "../../examples/mail/documents/tiff.ts";

const page = faxPage("seed");
const pixels = Buffer.concat(page.rows);

test("a page depends on its seed alone", () => {
  expect(Buffer.concat(faxPage("seed").rows).equals(pixels)).toBe(true);
  expect(Buffer.concat(faxPage("other").rows).equals(pixels)).toBe(false);
});

describe("the PDF", () => {
  const image = { width: 64, height: 32, pixels: seededBytes("scan", 64 * 32) };
  const file = pdf(["A fax (1 page) \\ cover"], image);
  const text = file.toString("latin1");

  test("has a cross-reference table that points at every object", () => {
    const table = Number(/startxref\n(\d+)\n%%EOF\n$/.exec(text)?.[1]);
    const entries = [...text.slice(table).matchAll(/^(\d{10}) 00000 n \n/gm)];
    expect(text.slice(table, table + 9)).toBe("xref\n0 7\n");
    expect(entries).toHaveLength(6);
    for (const [i, entry] of entries.entries()) {
      expect(text.slice(Number(entry[1]))).toMatch(new RegExp(`^${i + 1} 0 obj\n`));
    }
  });

  test("declares the true length of its streams", () => {
    const streams = [...text.matchAll(/\/Length (\d+) >>\nstream\n/g)];
    expect(streams).toHaveLength(2);
    for (const { 0: head, 1: length, index } of streams) {
      const end = index + head.length + Number(length);
      expect(text.slice(end, end + 10)).toBe("\nendstream");
    }
    expect(file.includes(image.pixels)).toBe(true);
  });

  test("escapes what has a meaning inside a string", () => {
    expect(text).toContain("(A fax \\(1 page\\) \\\\ cover) Tj");
  });
});

test("the PNG has sound chunks and unpacks to the page", () => {
  const chunks = pngChunks(png(page));
  expect(chunks.map(({ type }) => type)).toEqual(["IHDR", "IDAT", "IEND"]);
  expect(chunks[0]?.data.readUInt32BE(0)).toBe(page.width);
  expect(chunks[0]?.data.readUInt32BE(4)).toBe(page.height);
  const lines = inflateSync(chunks[1]?.data ?? Buffer.alloc(0));
  const stride = page.width / 8 + 1;
  const rows = page.rows.map((_, y) => lines.subarray(y * stride + 1, (y + 1) * stride));
  expect(Buffer.concat(rows.map((row) => row.map((byte) => byte ^ 0xff))).equals(pixels)).toBe(
    true,
  );
});

test("the TIFF lists its fields in order and unpacks to the page", () => {
  const file = tiff(page);
  expect(file.subarray(0, 4).toString("latin1")).toBe("II*\0");
  const fields = tiffFields(file);
  expect([...fields.keys()]).toEqual([...fields.keys()].sort((a, b) => a - b));
  expect([256, 257, 258, 259, 262].map((tag) => fields.get(tag))).toEqual([1728, 720, 1, 32773, 0]);
  const [at = 0, length = 0] = [fields.get(273), fields.get(279)];
  expect(unpackBits(file.subarray(at, at + length)).equals(pixels)).toBe(true);
  const resolution = fields.get(282) ?? 0;
  expect(file.readUInt32LE(resolution) / file.readUInt32LE(resolution + 4)).toBe(204);
});

function pngChunks(file: Buffer): { type: string; data: Buffer }[] {
  const chunks: { type: string; data: Buffer }[] = [];
  for (let at = 8; at < file.length; ) {
    const end = at + 8 + file.readUInt32BE(at);
    const body = file.subarray(at + 4, end);
    expect(file.readUInt32BE(end)).toBe(crc32(body));
    chunks.push({ type: body.subarray(0, 4).toString("latin1"), data: body.subarray(4) });
    at = end + 4;
  }
  return chunks;
}

function tiffFields(file: Buffer): Map<number, number> {
  const directory = file.readUInt32LE(4);
  const count = file.readUInt16LE(directory);
  const entry = (i: number): [number, number] => {
    const at = directory + 2 + i * 12;
    return [file.readUInt16LE(at), file.readUInt32LE(at + 8)];
  };
  return new Map(Array.from({ length: count }, (_, i) => entry(i)));
}

/** By the book, not by what our packer happens to write: literals too. */
function unpackBits(packed: Buffer): Buffer {
  const out: Buffer[] = [];
  for (let at = 0; at < packed.length; ) {
    const n = packed.readInt8(at++);
    if (n >= 0) out.push(packed.subarray(at, at + n + 1));
    else if (n > -128) out.push(Buffer.alloc(1 - n, packed[at] ?? 0));
    at += n >= 0 ? n + 1 : n > -128 ? 1 : 0;
  }
  return Buffer.concat(out);
}
