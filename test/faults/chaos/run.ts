import { setTimeout as pause } from "node:timers/promises";
import { act } from "./actors.ts";
import { type Judged, judge } from "./checks.ts";
import { happen } from "./faults.ts";
import type { ChaosOptions } from "./options.ts";
import { busyWorkers, quiet } from "./quiet.ts";
import { report, tellStories } from "./report.ts";
import { openScene, type Scene } from "./scene.ts";
import { deal, type Planned } from "./schedule.ts";

/** One run, from an empty server to its verdict, which it prints. True where every promise was kept. */
export async function runChaos({ seed, minutes }: ChaosOptions): Promise<boolean> {
  const begun = performance.now();
  const durationMs = minutes * 60_000;
  const scene = await openScene();
  const warned = (warning: Error) =>
    scene.books.blame(endsWell, `this process: ${warning.message}`);
  process.on("warning", warned);
  try {
    await workersAreThere(scene);
    await storm(scene, seed, durationMs);
    if (!(await quiet(scene))) console.log("Nothing ended for a minute, and jobs are left.");
    const judged = await judge(scene);
    await scene.crew.terminate();
    const verdict = [...judged, ...endings(scene, judged)];
    await report(scene, verdict);
    const isKept = verdict.every(({ violations }) => violations.length === 0);
    if (!isKept) await tellStories(scene, verdict);
    const seconds = Math.round((performance.now() - begun) / 1_000);
    console.log(`${isKept ? "Every promise was kept" : "FAILED"}: seed ${seed}, ${seconds} s`);
    return isKept;
  } finally {
    process.off("warning", warned);
    await scene.close();
  }
}

const endsWell = "no process ends unasked or warns";

/** Before the first fault, each worker has begun. */
async function workersAreThere(scene: Scene): Promise<void> {
  const late = await busyWorkers(scene);
  if (late.length > 0) throw new Error(`Workers did not begin: ${late.join("; ")}`);
}

/** Actors and faults at once; then the actors are heard out, with everything whole again. */
async function storm(scene: Scene, seed: number, durationMs: number): Promise<void> {
  const end = new AbortController();
  const acting = act(scene, seed, end.signal);
  const faults = deal(seed, durationMs).map((planned) => strike(scene, planned));
  const trouble = Promise.all([acting, ...faults]);
  await Promise.race([pause(durationMs), trouble]);
  end.abort();
  await trouble;
}

async function strike(scene: Scene, { kind, atMs, dice }: Planned): Promise<void> {
  await pause(atMs);
  await happen(scene, kind, dice);
}

/** What was only seen when the crew was dismissed. */
function endings({ books }: Scene, judged: readonly Judged[]): Judged[] {
  const promise = endsWell;
  const known = judged.find((one) => one.promise === promise)?.violations.length ?? 0;
  const violations = books.scandals.filter(({ check }) => check === promise).slice(known);
  if (violations.length === 0) return [];
  return [{ promise, count: violations.length, violations: violations.map(({ what }) => what) }];
}
