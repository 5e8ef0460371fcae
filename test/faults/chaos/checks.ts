import type { Check, Finding } from "./check.ts";
import { conductChecks } from "./checks/conduct.ts";
import { effectChecks } from "./checks/effects.ts";
import { jobChecks } from "./checks/jobs.ts";
import { moneyChecks } from "./checks/money.ts";
import type { Scene } from "./scene.ts";

export interface Judged extends Finding {
  readonly promise: string;
}

const checks: readonly Check[] = [...conductChecks, ...jobChecks, ...effectChecks, ...moneyChecks];

/** Looks at everything that is promised. Call it when all is quiet and the crew still stands. */
export async function judge(scene: Scene): Promise<Judged[]> {
  const judged: Judged[] = [];
  for (const { promise, look } of checks) judged.push({ promise, ...(await look(scene)) });
  return judged;
}
