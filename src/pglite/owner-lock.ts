import { randomUUID } from "node:crypto";
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type LeaseholdError, leaseholdError } from "../errors.ts";
import { isElsewhere, isRunning, ownIdentity, type ProcessIdentity } from "./process-identity.ts";

/**
 * The guard of an embedded data folder: two processes that write to it at once destroy it.
 *
 * The lock is the file FOLDER.lock beside the folder, and names its owner. The lock of a dead owner
 * is taken over. To delete it and make a new one would not do: of two processes that both found the
 * dead one, the slower would delete the new lock of the faster. So nobody deletes another's lock.
 * A dead owner is *succeeded*, by making the file FOLDER.lock.TOKEN, named by the dead owner's
 * random token, which only one process can make. A successor that died is succeeded the same way:
 * the files are a chain, and its end is the owner, if alive. Having made its file, a process walks
 * the chain from the head again; if it is not on it, the chain had moved on meanwhile, and it looks
 * anew. A new owner tidies up: it becomes the head by an atomic rename and deletes the rest. A token
 * never returns to the chain, so a file made after that by someone slow leads nowhere.
 */
export interface OwnerLock {
  /** Gives the folder free. Happens by itself when the process ends, but not when it is killed. */
  release(): void;
}

interface Owner extends ProcessIdentity {
  readonly token: string;
}

/** Takes the lock of `folder` (an absolute path), or throws LH102, which names the owner. */
export function takeOwnerLock(folder: string): OwnerLock {
  const head = `${folder}.lock`;
  const self: Owner = { ...ownIdentity(), token: randomUUID() };
  for (;;) {
    const { end, owner } = walk(head);
    if (owner) throw ownedError(folder, end, owner);
    if (!createWhole(end, self)) continue; // another was faster
    if (walk(head).owner?.token === self.token) break;
    removeOwn(end, self);
  }
  becomeHead(head, self);
  const release = (): void => {
    process.off("exit", release);
    removeOwn(head, self);
  };
  process.on("exit", release);
  return { release };
}

/** Follows the chain of dead owners to its end: a living owner, or the name of the next file. */
function walk(head: string): { end: string; owner?: Owner } {
  for (;;) {
    const first = read(head);
    let end = head;
    let owner = first;
    while (owner && !isElsewhere(owner) && !isRunning(owner)) {
      end = `${head}.${owner.token}`;
      owner = read(end);
    }
    if (!owner) return { end };
    // Under another head by now, the file may be a late one, whose maker is about to notice.
    if (end === head || read(head)?.token === first?.token) return { end, owner };
  }
}

function read(path: string): Owner | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Owner;
  } catch {
    throw leaseholdError(
      "LH102",
      `The lock file ${path} can't be read`,
      "If no process uses the database, delete it.",
    );
  }
}

/** A lock that was deleted by hand may be another's by now. */
function removeOwn(path: string, self: Owner): void {
  if (read(path)?.token === self.token) rmSync(path, { force: true });
}

/**
 * Makes a file with its content at once, so that no reader sees half of it; false when it exists.
 * Where there are no hard links (FAT, some network mounts), the content follows within the call.
 */
function createWhole(path: string, self: Owner): boolean {
  const draft = writeDraft(path, self);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST" || code === "ENOENT") return false; // ENOENT: an owner tidied it away
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "ENOSYS") throw error;
    return createExclusive(path, self);
  } finally {
    rmSync(draft, { force: true });
  }
}

function createExclusive(path: string, self: Owner): boolean {
  try {
    writeFileSync(path, JSON.stringify(self), { flag: "wx", flush: true });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Flushed, since a power loss must not leave an empty file that nobody can judge. */
function writeDraft(path: string, self: Owner): string {
  const draft = join(dirname(path), `${basename(path)}.${self.token}.draft`);
  writeFileSync(draft, JSON.stringify(self), { flush: true });
  return draft;
}

/** Only the owner does this, so nobody else changes the head or is on the chain meanwhile. */
function becomeHead(head: string, self: Owner): void {
  if (read(head)?.token !== self.token) renameSync(writeDraft(head, self), head);
  const prefix = `${basename(head)}.`;
  for (const name of readdirSync(dirname(head))) {
    const rest = name.slice(prefix.length);
    if (name.startsWith(prefix) && /^[0-9a-f-]{36}(\.|$)/.test(rest)) {
      rmSync(join(dirname(head), name), { force: true });
    }
  }
}

function ownedError(folder: string, lockFile: string, owner: Owner): LeaseholdError {
  const thread = owner.pid === process.pid ? " (this one, in another thread)" : "";
  const where = isElsewhere(owner) ? ` on ${owner.hostname}, which can't be seen from here` : "";
  return leaseholdError(
    "LH102",
    `The embedded database in ${folder} is owned by process ${owner.pid}${thread}${where}`,
    `${isElsewhere(owner) ? `If that process has ended, delete ${lockFile}. ` : ""}` +
      "For several processes set DATABASE_URL to a PostgreSQL server, " +
      "or send the call to the process that owns the database.",
  );
}
