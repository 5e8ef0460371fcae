import type { Scene } from "./scene.ts";

/** What a check found: how many things it looked at, and those that are not as promised. */
export interface Finding {
  readonly count: number;
  /** Ids of jobs where they are about jobs, or a sentence. */
  readonly violations: readonly string[];
}

/** One thing that is promised, as a sentence, and how to see whether it was kept. */
export interface Check {
  readonly promise: string;
  look(scene: Scene): Promise<Finding> | Finding;
}

/** A check by one statement, which answers rows of (`what`, `bad`): all it looked at. */
export function sqlCheck(
  promise: string,
  text: string,
  values?: (scene: Scene) => unknown[],
): Check {
  return {
    promise,
    async look(scene) {
      const { rows } = await scene.direct.query(text, values?.(scene) ?? []);
      return {
        count: rows.length,
        violations: rows.filter(({ bad }) => bad).map(({ what }) => String(what)),
      };
    },
  };
}

/** A check of what was noticed while all ran. */
export function noticed(promise: string, count: (scene: Scene) => number): Check {
  return {
    promise,
    look: (scene) => ({
      count: count(scene),
      violations: scene.books.scandals
        .filter(({ check }) => check === promise)
        .map(({ what }) => what),
    }),
  };
}
