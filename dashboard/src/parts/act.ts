import { signal } from "@preact/signals";
import { post } from "../api.ts";
import { count } from "../format.ts";
import { askAgain } from "../live.ts";
import type { Job } from "../types.ts";

/** What one can do to jobs: each is an SQL function of one job, and a command. */
export type Verb = "retry" | "cancel" | "run_now" | "remove";

export interface VerbWords {
  readonly title: string;
  readonly done: string;
  readonly may: (job: Pick<Job, "status">) => boolean;
}

export const verbs: Readonly<Record<Verb, VerbWords>> = {
  retry: {
    title: "Re-run",
    done: "queued again",
    may: ({ status }) => status === "failed" || status === "cancelled",
  },
  cancel: {
    title: "Cancel",
    done: "cancelled, or asked to stop",
    may: ({ status }) => status === "queued" || status === "running",
  },
  run_now: {
    title: "Run now",
    done: "due at once",
    may: ({ status }) => status === "queued",
  },
  remove: {
    title: "Remove",
    done: "removed",
    may: ({ status }) => status !== "queued" && status !== "running",
  },
};

export const verbNames = Object.keys(verbs) as Verb[];

/** Why a job was passed over, for a person. */
const reasons: Readonly<Record<string, string>> = {
  conflict: "another unfinished job has its key",
  wrong_status: "its status is another by now",
  already_finished: "it has finished",
  insufficient: "its account has too little available",
  money_unsettled: "its ledger is still being asked about its money",
  unknown: "it is gone",
};

export const reasonOf = (outcome: string): string => reasons[outcome] ?? outcome;

export interface Skipped {
  readonly id: string;
  readonly outcome: string;
}

export interface Outcome {
  readonly done: number;
  readonly skipped: readonly Skipped[];
}

interface Answer {
  readonly skipped: readonly Skipped[];
  readonly next?: string | null;
  readonly [count: string]: unknown;
}

function outcomeOf({ skipped, ...counts }: Answer): Outcome {
  const numbers = Object.values(counts).filter((value) => typeof value === "number");
  return { done: numbers.reduce((all, one) => all + one, 0), skipped };
}

export async function onIds(action: Verb, ids: readonly string[]): Promise<Outcome> {
  return outcomeOf(await post<Answer>({ action, ids }));
}

/** On all that the filter names, a few hundred at a time, the newest first. */
export async function onAll(
  action: Verb,
  filter: Readonly<Record<string, string>>,
  onProgress: (outcome: Outcome) => void,
): Promise<Outcome> {
  let all: Outcome = { done: 0, skipped: [] };
  let after: string | null | undefined;
  do {
    const from = after ? { ...filter, after } : filter;
    const answer = await post<Answer>({ action, filter: from });
    const { done, skipped } = outcomeOf(answer);
    all = { done: all.done + done, skipped: [...all.skipped, ...skipped] };
    onProgress(all);
    after = answer.next;
  } while (after);
  return all;
}

export interface Notice {
  readonly text: string;
  readonly bad: boolean;
  readonly skipped: readonly Skipped[];
}

export const notice = signal<Notice | null>(null);

export function tell(text: string, { bad = false, skipped = [] as readonly Skipped[] } = {}): void {
  notice.value = { text, bad, skipped };
}

/** Says what came of it, and has the views ask again. */
export function report(verb: Verb, { done, skipped }: Outcome): void {
  const words = verbs[verb];
  const [only] = skipped;
  if (done === 0 && skipped.length === 1 && only !== undefined) {
    tell(`Nothing was done: ${reasonOf(only.outcome)}.`, { bad: true });
  } else {
    const jobs = (n: number) => `${count(n)} ${n === 1 ? "job" : "jobs"}`;
    const passed = skipped.length > 0 ? `; ${jobs(skipped.length)} passed over` : "";
    tell(`${jobs(done)} ${words.done}${passed}.`, { bad: skipped.length > 0, skipped });
  }
  askAgain();
}

/** Runs what a button does; a failure is told. The promise never rejects. */
export async function attempt(act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    tell((error as Error).message, { bad: true });
    askAgain();
  }
}
