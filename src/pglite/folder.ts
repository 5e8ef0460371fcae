import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import { leaseholdError } from "../errors.ts";
import { installed, optionalPackageError } from "../optional-package.ts";
import { type Share, share } from "../shared.ts";
import type { OwnPGlite } from "./like.ts";
import { ownPGlite } from "./own.ts";
import { takeOwnerLock } from "./owner-lock.ts";

/** A PGlite in memory: its data ends with it. Throws LH106 when PGlite is not installed. */
export async function openMemory(): Promise<OwnPGlite> {
  const { PGlite } = await loadPGlite();
  return ownPGlite(await PGlite.create());
}

/**
 * Opens the PGlite in `folder`, which is made when absent. Within one process everyone shares it;
 * the last one to release it closes it. Throws LH102 when another process owns the folder, LH106
 * when PGlite is not installed, LH107 when the folder holds something else.
 */
export async function openFolder(folder: string): Promise<Share<OwnPGlite>> {
  const { PGlite } = await loadPGlite();
  mkdirSync(folder, { recursive: true });
  const path = realpathSync(folder); // one name, and so one lock, for all ways to the folder
  return share<OwnPGlite>(
    `pglite:${path}`,
    () => openOwned(path, () => PGlite.create(path)),
    (db) => db.close(),
  );
}

async function openOwned(path: string, create: () => Promise<PGlite>): Promise<OwnPGlite> {
  const lock = takeOwnerLock(path);
  try {
    const db = await makeWhole(path, create);
    return ownPGlite(db, () => db.close().finally(lock.release));
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * The first start of a folder takes seconds and writes 39 MB. A process that is killed meanwhile
 * leaves a part of a database, which no later start could open; the file FOLDER.creating tells, and
 * the part, in which nothing can have been stored yet, is deleted.
 */
async function makeWhole(path: string, create: () => Promise<PGlite>): Promise<PGlite> {
  const creating = `${path}.creating`;
  if (existsSync(creating)) empty(path);
  if (existsSync(join(path, "PG_VERSION"))) return create();
  if (readdirSync(path).length > 0) throw foreignFolderError(path);
  writeFileSync(creating, "", { flush: true });
  const db = await create();
  rmSync(creating);
  return db;
}

function empty(path: string): void {
  for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true });
}

function foreignFolderError(path: string): Error {
  return leaseholdError(
    "LH107",
    `The folder ${path} is not empty and holds no PGlite database`,
    "Give a folder of its own.",
  );
}

async function loadPGlite(): Promise<Pick<typeof import("@electric-sql/pglite"), "PGlite">> {
  try {
    const { PGlite } = await import("@electric-sql/pglite");
    return { PGlite: installed("@electric-sql/pglite", PGlite) };
  } catch (error) {
    throw optionalPackageError("@electric-sql/pglite", error);
  }
}
