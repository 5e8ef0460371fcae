/**
 * What happens to each message on its way, and what must have come of it in the end. This table is
 * the demo's script: the provider plays it, the demo stages it, the checks compare with it.
 */

/** What the mail provider does when the message is asked for. */
export type ProviderBehaviour =
  | "serves"
  | "unavailable twice"
  | "throttles once"
  | "knows nothing"
  | "refuses until rights are granted"
  | "sends slowly"
  | "holds the first answer"
  | "holds the first two answers";

/** Which attachments the message carries; see contents.ts. */
export type Content =
  | "fax"
  | "long fax"
  | "japanese name"
  | "nested message"
  | "5 MB"
  | "hostile names";

export interface Scenario {
  readonly title: string;
  readonly content: Content;
  readonly provider: ProviderBehaviour;
  /** How often the webhook announces the message. More than once must not mean more than one job. */
  readonly deliveries: number;
  /** What the demo does to the worker that is in the middle of the message. */
  readonly staged?: "SIGKILL" | "SIGSTOP";
  readonly expected: Expected;
}

export interface Expected {
  readonly status: "completed" | "failed";
  /** Claims that count: a crash counts, a release does not. */
  readonly attempts: number;
  /** The HTTP answers of the provider in order, one for each claim. A repeated 401 counts as one. */
  readonly answers: readonly number[];
}

export interface PlannedMessage {
  /** Also the key of the job and the folder in the storage: `mail-0001`. */
  readonly id: string;
  readonly index: number;
  readonly scenario: Scenario;
}

const done = { status: "completed", attempts: 1, answers: [200] } as const;
const plain = { content: "fax", provider: "serves", deliveries: 1, expected: done } as const;

/** A worker is interrupted when it has stored one attachment and waits for the rest. */
const interrupted = {
  ...plain,
  content: "long fax",
  provider: "holds the first answer",
  expected: { status: "completed", attempts: 2, answers: [200, 200] },
} as const;

export const scenarios: readonly Scenario[] = [
  { ...plain, title: "a fax: PDF, TIFF and PNG" },
  { ...plain, title: "a Japanese file name", content: "japanese name" },
  {
    ...interrupted,
    title: "worker stopped beyond its lease",
    // The second worker is held too: it is still at work when the first one comes back.
    provider: "holds the first two answers",
    staged: "SIGSTOP",
  },
  { ...interrupted, title: "worker killed in the middle", staged: "SIGKILL" },
  {
    ...plain,
    title: "503 twice, then fine",
    provider: "unavailable twice",
    expected: { status: "completed", attempts: 3, answers: [503, 503, 200] },
  },
  {
    ...plain,
    title: "429 with Retry-After",
    provider: "throttles once",
    expected: { status: "completed", attempts: 2, answers: [429, 200] },
  },
  {
    ...plain,
    title: "404: gone for good",
    provider: "knows nothing",
    expected: { status: "failed", attempts: 1, answers: [404] },
  },
  {
    ...plain,
    title: "401 until the key has its rights",
    provider: "refuses until rights are granted",
    // The refused claim was released, so it does not count as an attempt.
    expected: { status: "completed", attempts: 1, answers: [401, 200] },
  },
  { ...plain, title: "slower than the lease is long", provider: "sends slowly" },
  { ...plain, title: "announced twice by the webhook", deliveries: 2 },
  { ...plain, title: "a message inside the message", content: "nested message" },
  { ...plain, title: "an attachment of 5 MB", content: "5 MB" },
  { ...plain, title: "file names that attack the storage", content: "hostile names" },
];

/** The fewest messages with which every scenario is played. */
export const minimumMessages = scenarios.length;

/** Beyond the script, ordinary faxes; every fifth meets a provider that is busy. */
const ordinary: Scenario = { ...plain, title: "an ordinary fax" };
const busy = scenarios.find((scenario) => scenario.provider === "unavailable twice") ?? ordinary;

/** The first messages play one scenario each; the rest is load. */
export function planMessages(count: number): PlannedMessage[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `mail-${String(index + 1).padStart(4, "0")}`,
    index,
    scenario: scenarios[index] ?? (index % 5 === 0 ? busy : ordinary),
  }));
}
