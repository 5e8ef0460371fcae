import { setTimeout as pause } from "node:timers/promises";
import type { Check } from "./report";

/** What a model would say in the end. */
export interface Judgement {
  readonly score: number;
  readonly verdict: string;
}

const steps = [
  "Reading the map",
  "Weighing flood against height",
  "Reading ten years of reports",
  "Writing the summary",
] as const;

/**
 * A slow stand-in for a model, which tells each step as it begins, as a share of the whole. Set
 * MODEL_STEP_MS (1500) for its speed, and MODEL_MODE to "fail" or "hang" to have it break.
 */
export async function judge(
  checks: readonly Check[],
  signal: AbortSignal,
  onStep: (step: string, share: number) => Promise<unknown>,
): Promise<Judgement> {
  const stepMs = Number(process.env.MODEL_STEP_MS ?? 1_500);
  for (const [i, step] of steps.entries()) {
    await onStep(step, i / steps.length);
    await pause(stepMs, undefined, { signal });
    if (i === 1) await breakOnPurpose();
  }
  const score = Math.round(checks.reduce((sum, each) => sum + each.score, 0) / checks.length);
  return { score, verdict: verdictOf(score) };
}

function verdictOf(score: number): string {
  if (score >= 70) return "A safe area to live in.";
  return score >= 40 ? "Safe enough, with a few things to know." : "Think twice, and ask around.";
}

/** Deaf to its signal when it hangs, as a client without a timeout is. */
async function breakOnPurpose(): Promise<void> {
  if (process.env.MODEL_MODE === "fail") throw new Error("the model is out of memory");
  if (process.env.MODEL_MODE === "hang") await new Promise(() => undefined);
}
