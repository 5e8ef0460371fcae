import { expectedAttachments } from "./messages.ts";
import type { LogEntry } from "./provider/play.ts";
import type { PlannedMessage } from "./scenarios.ts";
import type { StorageExpectation, StorageVerdict } from "./storage.ts";

/** One expectation of the demo and whether it held. */
export interface Check {
  readonly held: boolean;
  readonly expectation: string;
  /** What was found: one line for each deviation, or a detail worth reading. May be empty. */
  readonly found: string;
}

/** What the job table says about one message in the end. */
export interface JobOutcome {
  readonly messageId: string;
  readonly status: string;
  readonly attempts: number;
  readonly generation: number;
}

/** A check that holds when nothing deviates. */
export function check(expectation: string, deviations: readonly string[], detail = ""): Check {
  const held = deviations.length === 0;
  const shown = deviations.slice(0, 20);
  if (deviations.length > shown.length)
    shown.push(`… and ${deviations.length - shown.length} more`);
  return { held, expectation, found: held ? detail : shown.join("\n") };
}

/** Compares the jobs with the plan: how each ended, and how many attempts were counted. */
export function checkJobs(plan: readonly PlannedMessage[], jobs: readonly JobOutcome[]): Check[] {
  const found = new Map(jobs.map((job) => [job.messageId, job]));
  const deviations = plan.flatMap(({ id, scenario: { expected } }) => {
    const job = found.get(id);
    if (job === undefined) return [`${id} has no job`];
    return job.status === expected.status && job.attempts === expected.attempts
      ? []
      : [`${id} is ${ended(job)}, expected ${ended(expected)}`];
  });
  return [
    check(`every message ended as planned (${plan.length} messages)`, deviations),
    check(
      "each message has exactly one job, however often it was announced",
      jobs.length === found.size && jobs.length === plan.length
        ? []
        : [`${jobs.length} jobs for ${plan.length} messages`],
    ),
  ];
}

/** Compares the provider's log with the plan and with the claims that the job table counted. */
export function checkProvider(
  plan: readonly PlannedMessage[],
  jobs: readonly JobOutcome[],
  log: readonly LogEntry[],
): Check[] {
  const answers = new Map<string, number[]>();
  for (const { messageId, status } of log) {
    const earlier = answers.get(messageId);
    if (earlier) earlier.push(status);
    else answers.set(messageId, [status]);
  }
  return [checkScript(plan, answers), checkClaims(jobs, answers, log.length), checkWaits(log)];
}

type AnswersByMessage = ReadonlyMap<string, readonly number[]>;

function checkScript(plan: readonly PlannedMessage[], answers: AnswersByMessage): Check {
  const deviations = plan.flatMap(({ id, scenario: { expected } }) => {
    const given = withoutRepeated401(answers.get(id) ?? []).join(", ") || "nothing";
    const planned = expected.answers.join(", ");
    return given === planned ? [] : [`${id}: the provider answered ${given}, planned ${planned}`];
  });
  return check("the provider answered as scripted", deviations);
}

/** The generation counts claims, whatever became of them: killed, stopped, released or retried. */
function checkClaims(jobs: readonly JobOutcome[], answers: AnswersByMessage, all: number): Check {
  const deviations = jobs.flatMap(({ messageId, generation }) => {
    const requests = answers.get(messageId)?.length ?? 0;
    if (requests === generation) return [];
    return [`${messageId}: ${requests} requests in ${generation} claims`];
  });
  return check("every claim asked the provider exactly once", deviations, `${all} requests`);
}

function checkWaits(log: readonly LogEntry[]): Check {
  const waits = log.filter(({ note }) => note.includes("came back after"));
  const early = waits.filter(({ status }) => status === 429);
  const shown = (entries: readonly LogEntry[]): string[] =>
    entries.map(({ messageId, note }) => `${messageId} ${note}`);
  return check("Retry-After was honoured", shown(early), shown(waits).join("\n"));
}

/** What must lie in the storage: all attachments of what completed, nothing of what failed. */
export async function storageExpectations(
  plan: readonly PlannedMessage[],
): Promise<StorageExpectation[]> {
  const completed = plan.filter(({ scenario }) => scenario.expected.status === "completed");
  const expectations: StorageExpectation[] = [];
  // One after the other: all at once would hold every attachment of the demo in memory.
  for (const message of completed) {
    expectations.push({ messageId: message.id, attachments: await expectedAttachments(message) });
  }
  return expectations;
}

export function checkStorage(verdict: StorageVerdict): Check {
  const { intact, missing, altered, surplus } = verdict;
  return check(
    "the storage holds each attachment exactly once, byte for byte, and nothing else",
    [
      ...missing.map((path) => `missing: ${path}`),
      ...altered.map((path) => `altered: ${path}`),
      ...surplus.map((path) => `surplus: ${path}`),
    ],
    `${intact} attachments`,
  );
}

function ended({ status, attempts }: { status: string; attempts: number }): string {
  return `${status} after ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`;
}

/** How often the key is refused before it has its rights depends on who is faster. */
function withoutRepeated401(answers: readonly number[]): number[] {
  return answers.filter((status, i) => status !== 401 || answers[i - 1] !== 401);
}
