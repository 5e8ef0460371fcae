import { nowMs } from "../child/clock.ts";
import type { Child } from "./child-process.ts";

/** How far the consumers are together. */
export interface Step {
  readonly ran: number;
  readonly atMs: number;
}

/** What is followed of a child. */
type Followed = Pick<Child, "ran" | "onRan" | "onCrash">;

/** Follows what the consumers run, by their own words, about every ten milliseconds. */
export class Progress {
  readonly steps: Step[] = [];
  readonly #children: readonly Followed[];
  readonly #crashed: Promise<never>;
  #onStep: (step: Step) => void = () => undefined;

  constructor(children: readonly Followed[]) {
    this.#children = children;
    this.#crashed = new Promise((_, reject) => {
      for (const child of children) child.onCrash = reject;
    });
    this.#crashed.catch(() => undefined); // whoever waits is told
    for (const child of children) child.onRan = (atMs) => this.#step(atMs);
  }

  /**
   * The first step with so many, or undefined where the time was over before. Rejects when a consumer
   * crashes.
   */
  async until(target: number, limitMs: number): Promise<Step | undefined> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const reached = new Promise<Step | undefined>((resolve) => {
      const last = this.steps.at(-1) ?? { ran: 0, atMs: nowMs() };
      if (last.ran >= target) return resolve(last);
      this.#onStep = (step) => {
        if (step.ran >= target) resolve(step);
      };
      timer = setTimeout(() => resolve(undefined), limitMs);
    });
    try {
      return await Promise.race([reached, this.#crashed]);
    } finally {
      clearTimeout(timer);
    }
  }

  #step(atMs: number): void {
    const ran = this.#children.reduce((sum, child) => sum + child.ran, 0);
    const step = { ran, atMs };
    this.steps.push(step);
    this.#onStep(step);
  }
}
