import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ExpectedAttachment, sha256 } from "../../examples/mail/messages.ts";
import { safeName } from "../../examples/mail/safe-name.ts";
import { attachmentPath, storeAttachment, verifyStorage } from "../../examples/mail/storage.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "mail-storage-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("the path of an attachment", () => {
  test.each([
    ["fax.pdf", "mail-1/0-fax.pdf"],
    ["受信ファックス.pdf", "mail-1/0-受信ファックス.pdf"],
    ["../../etc/passwd", "mail-1/0-_.._etc_passwd"],
    ["..\\..\\boot.ini", "mail-1/0-_.._boot.ini"],
    ["C:\\fax.pdf", "mail-1/0-C__fax.pdf"],
    ["/etc/passwd", "mail-1/0-_etc_passwd"],
    ["..", "mail-1/0-attachment"],
    ["", "mail-1/0-attachment"],
    [".hidden", "mail-1/0-hidden"],
    ["nul\0byte\n.pdf", "mail-1/0-nul_byte_.pdf"],
    ["invoice\u202efdp.exe", "mail-1/0-invoice_fdp.exe"],
    ["trailing. . ", "mail-1/0-trailing"],
    ["lone \ud800.pdf", "mail-1/0-lone \ufffd.pdf"],
  ])("for %j stays inside the message's folder", (filename, path) => {
    expect(attachmentPath("mail-1", 0, filename)).toBe(path);
  });

  test("is of a length that file systems take, with its extension", () => {
    const name = safeName(`${"長".repeat(300)}.pdf`);
    expect(name).toMatch(/^長+\.pdf$/);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(120);
  });

  test.each(["..", "a/b", "", "a\\b", "x".repeat(65)])("refuses the message id %j", (id) => {
    expect(() => attachmentPath(id, 0, "fax.pdf")).toThrow("can't be a folder name");
  });
});

describe("storing", () => {
  test("twice under one path leaves one file, the second", async () => {
    await storeAttachment(folder, "mail-1/0-fax.pdf", Buffer.from("first"));
    await storeAttachment(folder, "mail-1/0-fax.pdf", Buffer.from("second"));
    expect(await readFile(join(folder, "mail-1/0-fax.pdf"), "utf8")).toBe("second");
    expect(await readdir(join(folder, "mail-1"))).toEqual(["0-fax.pdf"]);
    expect(await readdir(join(folder, ".incoming"))).toEqual([]);
  });

  test("by many at once leaves one whole file", async () => {
    const contents = Array.from({ length: 20 }, (_, i) => Buffer.alloc(100_000, i));
    await Promise.all(contents.map((c) => storeAttachment(folder, "mail-1/0-fax.pdf", c)));
    const stored = await readFile(join(folder, "mail-1/0-fax.pdf"));
    expect(contents.some((content) => content.equals(stored))).toBe(true);
    expect(await readdir(join(folder, ".incoming"))).toEqual([]);
  });
});

describe("verifying", () => {
  const files = [
    ["fax.pdf", "one"],
    ["fax.pdf", "two"],
    ["受信.pdf", "three"],
  ] as const;
  const attachments = files.map(([filename, text], index) => expected(index, filename, text));
  const expectations = [{ messageId: "mail-1", attachments }];

  beforeEach(async () => {
    for (const [index, [filename, text]] of files.entries()) {
      await storeAttachment(folder, attachmentPath("mail-1", index, filename), Buffer.from(text));
    }
  });

  test("finds everything in order", async () => {
    expect(await verifyStorage(folder, expectations)).toEqual({
      ok: true,
      intact: 3,
      missing: [],
      altered: [],
      surplus: [],
    });
  });

  test("finds a missing file", async () => {
    await rm(join(folder, "mail-1/1-fax.pdf"));
    const verdict = await verifyStorage(folder, expectations);
    expect(verdict).toMatchObject({ ok: false, intact: 2, missing: ["mail-1/1-fax.pdf"] });
  });

  test("finds files that were altered, at the same length and by one byte more", async () => {
    await writeFile(join(folder, "mail-1/0-fax.pdf"), "oNe");
    await appendFile(join(folder, "mail-1/2-受信.pdf"), "!");
    const verdict = await verifyStorage(folder, expectations);
    expect(verdict).toMatchObject({
      ok: false,
      intact: 1,
      altered: ["mail-1/0-fax.pdf", "mail-1/2-受信.pdf"],
    });
  });

  test("finds surplus files, an unfinished one too", async () => {
    await storeAttachment(folder, "mail-2/0-fax.pdf", Buffer.from("of another message"));
    await writeFile(join(folder, ".incoming/left-over"), "half");
    const verdict = await verifyStorage(folder, expectations);
    expect(verdict).toMatchObject({
      ok: false,
      intact: 3,
      surplus: [".incoming/left-over", "mail-2/0-fax.pdf"],
    });
  });

  test("finds all missing where there is no folder", async () => {
    const verdict = await verifyStorage(join(folder, "nowhere"), expectations);
    expect(verdict).toMatchObject({ ok: false, intact: 0 });
    expect(verdict.missing).toHaveLength(3);
  });
});

function expected(index: number, filename: string, text: string): ExpectedAttachment {
  const content = Buffer.from(text);
  const contentType = "application/pdf";
  return { index, filename, contentType, bytes: content.length, sha256: sha256(content) };
}
