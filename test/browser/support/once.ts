import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./until.ts";

const withinMs = 400_000;

/**
 * What `make` answers, which is made once in a run of the tests, for all files and their processes: one
 * makes it, the others wait. Where it fails, the next one tries.
 */
export async function onceInRun(name: string, make: () => Promise<string>): Promise<string> {
  const { RIG_FOLDER = "" } = process.env;
  const answer = join(RIG_FOLDER, `made-${name}`);
  const turn = `${answer}.turn`;
  await until(() => existsSync(answer) || taken(turn), `${name} is made`, withinMs);
  if (existsSync(answer)) return readFileSync(answer, "utf8");
  try {
    const made = await make();
    writeFileSync(answer, made);
    return made;
  } finally {
    rmdirSync(turn);
  }
}

/** Whether the turn was free and is ours now. */
function taken(turn: string): boolean {
  try {
    mkdirSync(turn);
    return true;
  } catch {
    return false;
  }
}
