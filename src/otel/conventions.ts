import type { Attributes } from "@opentelemetry/api";
import { describeError } from "../describe-error.ts";
import type { FinishedJob } from "../finish.ts";

/**
 * The semantic conventions for messaging, in the form of 2026: a kind is a destination, a job a message.
 * https://opentelemetry.io/docs/specs/semconv/messaging/
 */
export const system = { "messaging.system": "leasehold" } as const;

export const enqueueOperation = {
  ...system,
  "messaging.operation.name": "enqueue",
  "messaging.operation.type": "send",
} as const;

export const processOperation = {
  ...system,
  "messaging.operation.name": "process",
  "messaging.operation.type": "process",
} as const;

/** The kind, where all jobs of a call have the same. */
export function destination(kinds: readonly string[]): Attributes {
  const [first] = kinds;
  const isOne = first !== undefined && kinds.every((kind) => kind === first);
  return isOne ? { "messaging.destination.name": first } : {};
}

/** What an error is called, by its code where it has one. */
export function errorType(error: unknown): Attributes {
  return { "error.type": describeError(error).code };
}

const failures: readonly FinishedJob["outcome"][] = ["failed", "retried", "lost", "unrecorded"];

/** What an attempt's error is called; nothing where it has not failed. */
export function attemptErrorType({ outcome, code }: FinishedJob): Attributes {
  return failures.includes(outcome) ? { "error.type": code ?? outcome.toUpperCase() } : {};
}
