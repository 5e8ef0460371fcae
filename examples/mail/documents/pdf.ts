/** A picture inside a PDF: one byte a pixel, 0 is black. */
export interface GreyImage {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

/**
 * A PDF 1.4 file of one A4 page: lines of ASCII text and, if given, a scanned picture below them.
 *
 * Layout: header · objects, each at an offset that is noted · table of those offsets · trailer.
 */
export function pdf(lines: readonly string[], image?: GreyImage): Buffer {
  const objects = [
    text("<< /Type /Catalog /Pages 2 0 R >>"),
    text("<< /Type /Pages /Kids [3 0 R] /Count 1 >>"),
    text(pageObject(image !== undefined)),
    stream("", text(pageContent(lines, image !== undefined))),
    text("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
    ...(image === undefined ? [] : [imageObject(image)]),
  ];
  const parts = [text("%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")]; // bytes above 127: "this is a binary file"
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  for (const [i, object] of objects.entries()) {
    offsets.push(length);
    const part = Buffer.concat([text(`${i + 1} 0 obj\n`), object, text("\nendobj\n")]);
    parts.push(part);
    length += part.length;
  }
  return Buffer.concat([...parts, text(crossReference(offsets, length))]);
}

function pageObject(withImage: boolean): string {
  const pictures = withImage ? " /XObject << /Scan 6 0 R >>" : "";
  return [
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842]",
    `/Contents 4 0 R /Resources << /Font << /F1 5 0 R >>${pictures} >> >>`,
  ].join("\n");
}

function pageContent(lines: readonly string[], withImage: boolean): string {
  const shown = lines.map((line) => `(${line.replace(/[\\()]/g, "\\$&")}) Tj T*`);
  const picture = withImage ? "\nq 480 0 0 600 57 60 cm /Scan Do Q" : "";
  return `BT /F1 12 Tf 16 TL 57 785 Td\n${shown.join("\n")}\nET${picture}`;
}

function imageObject(image: GreyImage): Buffer {
  const size = `/Width ${image.width} /Height ${image.height}`;
  const shape = `/Type /XObject /Subtype /Image ${size} /ColorSpace /DeviceGray /BitsPerComponent 8`;
  return stream(`${shape} `, image.pixels);
}

function stream(dictionary: string, data: Buffer): Buffer {
  const head = text(`<< ${dictionary}/Length ${data.length} >>\nstream\n`);
  return Buffer.concat([head, data, text("\nendstream")]);
}

/** Each entry of the table is exactly 20 bytes long, or readers that seek in it miss the objects. */
function crossReference(offsets: readonly number[], startsAt: number): string {
  const entries = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`);
  const size = offsets.length + 1;
  return [
    `xref\n0 ${size}\n0000000000 65535 f \n${entries.join("")}`,
    `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${startsAt}\n%%EOF\n`,
  ].join("");
}

function text(value: string): Buffer {
  return Buffer.from(value, "latin1");
}
