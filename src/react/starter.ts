import type { StartAnswer } from "./request.ts";
import type { JobRequestError } from "./request-error.ts";

/** What a start came to: as `startJob`, or why it failed. */
export type StartOutcome =
  | StartAnswer
  | { readonly outcome: "error"; readonly error: JobRequestError };

/** Where a start is. */
export interface StartState {
  readonly isStarting: boolean;
  /** Of the last start; null before the first, and while one is under way. */
  readonly answer: StartOutcome | null;
}

/** Before the first start. */
export const notStarted: StartState = { isStarting: false, answer: null };

/** Starts jobs one at a time. It lives outside of the component, so nothing is set after its end. */
export class Starter {
  readonly #listeners = new Set<() => void>();
  #state = notStarted;
  #starting: Promise<StartOutcome> | null = null;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly state = (): StartState => this.#state;

  /** Runs `post`; while one runs, joins that one instead. Never rejects. */
  start(post: () => Promise<StartAnswer>): Promise<StartOutcome> {
    this.#starting ??= this.#run(post);
    return this.#starting;
  }

  /** Forgets the last answer; a start under way goes on. */
  readonly reset = (): void => {
    if (this.#starting === null) this.#set(notStarted);
  };

  async #run(post: () => Promise<StartAnswer>): Promise<StartOutcome> {
    this.#set({ isStarting: true, answer: null });
    const answer = await post().catch(
      (error: JobRequestError) => ({ outcome: "error", error }) as const,
    );
    this.#starting = null;
    this.#set({ isStarting: false, answer });
    return answer;
  }

  #set(state: StartState): void {
    this.#state = state;
    for (const listener of [...this.#listeners]) listener();
  }
}
