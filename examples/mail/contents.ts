import { faxPage, seededBytes } from "./documents/page.ts";
import { pdf } from "./documents/pdf.ts";
import { png } from "./documents/png.ts";
import { tiff } from "./documents/tiff.ts";
import type { Content, PlannedMessage } from "./scenarios.ts";

/** One attachment as it is put into a message. */
export interface Part {
  readonly filename: string;
  readonly contentType: string;
  readonly content: Buffer;
}

const contents: Record<Content, (seed: string) => Part[]> = {
  fax: (seed) => [coverPdf(seed, "fax.pdf"), pageTiff(seed), pagePng(seed)],
  // The middle of the message lies inside the second attachment: whoever is interrupted there has
  // stored the first, and waits. Long, since the parser reads on in pieces of 64 KB.
  "long fax": (seed) => [coverPdf(seed, "cover.pdf"), pageTiff(seed, 150), pagePng(seed)],
  "japanese name": (seed) => [coverPdf(seed, "受信ファックス.pdf"), pageTiff(seed)],
  // The message inside is composed by messages.ts, which adds it behind these.
  "nested message": (seed) => [coverPdf(seed, "fax.pdf")],
  "5 MB": (seed) => [coverPdf(seed, "cover.pdf"), scannedPdf(seed)],
  "hostile names": (seed) => [
    coverPdf(`${seed}/a`, "../../../../tmp/escape.pdf"),
    coverPdf(`${seed}/b`, "..\\..\\windows\\escape.pdf"),
    coverPdf(`${seed}/c`, "fax.pdf"),
    coverPdf(`${seed}/d`, "fax.pdf"),
    coverPdf(`${seed}/e`, "FAX.PDF"),
    coverPdf(`${seed}/f`, ".."),
    coverPdf(`${seed}/g`, `${"a long name ".repeat(30)}.pdf`),
  ],
};

/** The attachments of a planned message, without the nested one; the same bytes at every call. */
export function partsOf({ id, scenario }: PlannedMessage): Part[] {
  return contents[scenario.content](id);
}

/** A small PDF whose text names `seed`, so that no two attachments of the demo are equal. */
export function coverPdf(seed: string, filename: string): Part {
  const content = pdf(["Received fax", `Reference: ${seed}`, "Pages: 1 (cover included)"]);
  return { filename, contentType: "application/pdf", content };
}

function pageTiff(seed: string, lines = 30): Part {
  const content = tiff(faxPage(seed, lines));
  return { filename: "page-1.tiff", contentType: "image/tiff", content };
}

function pagePng(seed: string): Part {
  return { filename: "preview.png", contentType: "image/png", content: png(faxPage(seed)) };
}

/** A scan whose picture alone is 5 MiB: 2048 × 2560 grey pixels. */
function scannedPdf(seed: string): Part {
  const [width, height] = [2048, 2560];
  const pixels = seededBytes(`${seed}/scan`, width * height);
  const content = pdf(["A scan in full resolution"], { width, height, pixels });
  return { filename: "scan.pdf", contentType: "application/pdf", content };
}
