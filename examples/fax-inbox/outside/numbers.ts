import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Counts from 0 on, also across restarts: a fax that was sent before would be a redelivery. */
export function nextNumber(folder: string): number {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "sent");
  const number = numberIn(file);
  writeFileSync(file, `${number + 1}\n`);
  return number;
}

function numberIn(file: string): number {
  try {
    return Number.parseInt(readFileSync(file, "utf8"), 10) || 0;
  } catch {
    return 0; // none was sent yet
  }
}
