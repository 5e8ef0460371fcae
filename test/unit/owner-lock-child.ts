/**
 * A process that takes and gives back owner locks as its parent says. Requests: `take` at a given
 * moment (all children spin until then, so that they start within microseconds of each other),
 * `contend` in a loop, `release`.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { LeaseholdError } from "../../src/errors.ts";
import { type OwnerLock, takeOwnerLock } from "../../src/pglite/owner-lock.ts";

export type Request =
  | { do: "take"; folder: string; at: number }
  | { do: "contend"; folder: string; at: number; wins: number; dead: object }
  | { do: "release" };

export type Answer = { won: boolean; code?: string; message?: string; violations?: number };

let lock: OwnerLock | undefined;

process.setMaxListeners(0); // those who died on paper keep their exit listener

process.on("message", (request: Request) => {
  process.send?.(answer(request));
});
process.send?.({ won: false });

function answer(request: Request): Answer {
  if (request.do === "release") {
    lock?.release();
    return { won: false };
  }
  while (Date.now() < request.at);
  if (request.do === "contend") return contend(request);
  try {
    lock = takeOwnerLock(request.folder);
    return { won: true };
  } catch (error) {
    const { code, message } = error as LeaseholdError;
    return { won: false, code, message };
  }
}

/** Wins the lock so often, leaving it alternately by release and as one who died. */
function contend({ folder, wins, dead }: Request & { do: "contend" }): Answer {
  const inside = `${folder}.inside`;
  let violations = 0;
  for (let won = 0; won < wins; ) {
    let held: OwnerLock;
    try {
      held = takeOwnerLock(folder);
    } catch (error) {
      if ((error as LeaseholdError).code !== "LH102") throw error;
      continue;
    }
    try {
      writeFileSync(inside, "", { flag: "wx" }); // fails while another is inside
      rmSync(inside);
    } catch {
      violations += 1;
    }
    if (won % 2) held.release();
    else dieOnPaper(folder, dead);
    won += 1;
  }
  return { won: true, violations };
}

/** What the others see when this process dies: the same lock, whose owner runs no more. */
function dieOnPaper(folder: string, dead: object): void {
  const path = `${folder}.lock`;
  const mine = JSON.parse(readFileSync(path, "utf8"));
  writeFileSync(`${path}.${process.pid}`, JSON.stringify({ ...mine, ...dead }));
  renameSync(`${path}.${process.pid}`, path);
}
