import { type PlannedMessage, planMessages } from "../scenarios.ts";
import { type Answer, answer } from "./behaviour.ts";

/** One request for a message, as the provider saw it. The checks read these. */
export interface LogEntry {
  /** Since the provider started. */
  readonly atMs: number;
  readonly messageId: string;
  /** 1 for the first request for this message. */
  readonly request: number;
  readonly worker: string;
  readonly status: number;
  note: string;
}

/** A promise that somebody else settles: `open` lets all pass who wait, now and later. */
export class Gate<T = void> {
  readonly passed: Promise<T>;
  open: (value: T) => void = () => {};

  constructor() {
    this.passed = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

/** The state of one message at the provider. */
export interface Mail {
  readonly planned: PlannedMessage;
  requests: number;
  lastAnswerAtMs: number | null;
  /** Opens, with the worker's name, once the first half of a held message is sent for the first time. */
  readonly held: Gate<string>;
  readonly letGo: Gate;
}

/** Everything the provider remembers: its messages, what was asked of it, and the key's rights. */
export class Play {
  readonly log: LogEntry[] = [];
  readonly refused = new Gate();
  rightsGranted = false;
  readonly #mails = new Map<string, Mail>();

  constructor(messages: number) {
    for (const planned of planMessages(messages)) {
      const gates = { held: new Gate<string>(), letGo: new Gate() };
      this.#mails.set(planned.id, { planned, requests: 0, lastAnswerAtMs: null, ...gates });
    }
  }

  get mails(): Mail[] {
    return [...this.#mails.values()];
  }

  mail(id: string): Mail | undefined {
    return this.#mails.get(id);
  }

  /** Counts a request for a message, decides the answer and writes both down. */
  visit(mail: Mail, worker: string): { answer: Answer; entry: LogEntry } {
    const atMs = performance.now();
    const sinceLastMs = mail.lastAnswerAtMs === null ? null : atMs - mail.lastAnswerAtMs;
    const request = ++mail.requests;
    const facts = { request, sinceLastMs, rightsGranted: this.rightsGranted };
    const decided = answer(mail.planned.scenario.provider, facts);
    mail.lastAnswerAtMs = atMs;
    if (decided.status === 401) this.refused.open();
    const { status, note } = decided;
    const entry = { atMs, messageId: mail.planned.id, request, worker, status, note };
    this.log.push(entry);
    return { answer: decided, entry };
  }
}
