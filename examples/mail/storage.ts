import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { type ExpectedAttachment, sha256 } from "./messages.ts";
import { safeName } from "./safe-name.ts";

/** Where unfinished files lie: beside the messages, so that a rename never crosses a file system. */
const incoming = ".incoming";

/**
 * The path of an attachment, relative to the storage folder, fixed before anything is fetched: it
 * depends on nothing but the message and the attachment's place in it. So a second run of the same job, after
 * a crash or beside a worker that was given up, writes to the same place.
 */
export function attachmentPath(messageId: string, index: number, filename: string): string {
  if (!/^[\w-]{1,64}$/.test(messageId)) {
    throw new Error(`The message id ${JSON.stringify(messageId)} can't be a folder name`);
  }
  return posix.join(messageId, `${index}-${safeName(filename)}`);
}

/**
 * Writes one attachment; whatever lay under its path is replaced. Readers see the old file or the new
 * one, never half of one, and two writers at once leave one whole file.
 *
 * A crash in between leaves a stray file in `.incoming`, to be deleted when no worker runs.
 */
export async function storeAttachment(
  folder: string,
  path: string,
  content: Buffer,
): Promise<void> {
  const target = join(folder, path);
  const temporary = join(folder, incoming, randomBytes(12).toString("hex"));
  await mkdir(join(folder, incoming), { recursive: true });
  await mkdir(join(target, ".."), { recursive: true });
  try {
    // The job is completed after this and the database keeps that: the file must be as durable.
    await writeFile(temporary, content, { flag: "wx", flush: true });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

export interface StorageExpectation {
  readonly messageId: string;
  readonly attachments: readonly ExpectedAttachment[];
}

/** Paths relative to the storage folder; `ok` when all three lists are empty. */
export interface StorageVerdict {
  readonly ok: boolean;
  /** Attachments found whole, byte for byte. */
  readonly intact: number;
  readonly missing: readonly string[];
  readonly altered: readonly string[];
  readonly surplus: readonly string[];
}

/** Compares the whole storage with what must be there: everything once, unaltered, nothing else. */
export async function verifyStorage(
  folder: string,
  expectations: readonly StorageExpectation[],
): Promise<StorageVerdict> {
  const surplus = new Set(await filesBelow(folder));
  const missing: string[] = [];
  const altered: string[] = [];
  let intact = 0;
  for (const { messageId, attachments } of expectations) {
    for (const expected of attachments) {
      const path = attachmentPath(messageId, expected.index, expected.filename);
      if (!surplus.delete(path)) missing.push(path);
      else if (await isIntact(join(folder, path), expected)) intact++;
      else altered.push(path);
    }
  }
  const ok = missing.length + altered.length + surplus.size === 0;
  return { ok, intact, missing, altered, surplus: [...surplus].sort() };
}

async function isIntact(file: string, expected: ExpectedAttachment): Promise<boolean> {
  const content = await readFile(file);
  return content.length === expected.bytes && sha256(content) === expected.sha256;
}

/** Every file below the folder, as a path with `/` on every system; none when there is no folder. */
async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    },
  );
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map((entry) => relativePath(folder, join(entry.parentPath, entry.name)));
}

function relativePath(folder: string, path: string): string {
  // macOS may hand names back decomposed; safeName composes them.
  return path
    .slice(join(folder).length + 1)
    .replaceAll("\\", "/")
    .normalize("NFC");
}
