import { mkdirSync } from "node:fs";
import { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** One object in the storage. */
export interface StoredObject {
  readonly contentType: string;
  readonly content: Buffer;
}

/** The objects of the storage: a file each in one folder, so that they outlast a restart. */
export class Objects {
  readonly #folder: string;
  /** How often each object was written, since this was made. */
  readonly writes = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  /** Names begin with the bucket and a slash. What lay there is replaced. */
  async put(name: string, { contentType, content }: StoredObject): Promise<void> {
    const count = (this.writes.get(name) ?? 0) + 1;
    this.writes.set(name, count);
    const file = this.#file(name);
    // Two writers at once leave one whole object.
    const temporary = `${file}.${process.pid}.${count}`;
    await writeFile(temporary, Buffer.concat([Buffer.from(`${contentType}\n`), content]));
    await rename(temporary, file);
  }

  /** Null where there is none. */
  async get(name: string): Promise<StoredObject | null> {
    const file = await readFile(this.#file(name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (file === null) return null;
    const end = file.indexOf("\n");
    return { contentType: file.toString("utf8", 0, end), content: file.subarray(end + 1) };
  }

  /** The names of all objects that begin so. */
  async names(prefix: string): Promise<string[]> {
    const names = (await readdir(this.#folder)).map(decodeURIComponent);
    return names.filter((name) => name.startsWith(prefix)).sort();
  }

  /** Without a slash in it, a file name can't lead out of the folder. */
  #file(name: string): string {
    return join(this.#folder, encodeURIComponent(name));
  }
}
