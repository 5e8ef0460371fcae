import type { Attributes, Counter, Histogram, Meter } from "@opentelemetry/api";
import type { FinishedJob } from "../finish.ts";
import type { FunctionName } from "../functions.ts";
import type { DatabaseCall } from "../telemetry.ts";
import {
  attemptErrorType,
  destination,
  enqueueOperation,
  errorType,
  processOperation,
  system,
} from "./conventions.ts";

/** Seconds; as the conventions advise for calls, and for work that takes minutes. */
const callBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const workBuckets = [...callBuckets, 30, 60, 120, 300, 600, 1_800, 3_600];

/** What a call of the database does, in the words of the conventions. */
const operationTypes: Partial<Record<FunctionName, string>> = {
  claim: "receive",
  claim_job: "receive",
  finish_and_claim: "settle",
  finish_many: "settle",
  complete: "settle",
  fail: "settle",
  release: "settle",
};

/** The four metrics that messaging clients have in common. */
export class Measurements {
  readonly #operations: Histogram;
  readonly #sent: Counter;
  readonly #consumed: Counter;
  readonly #processing: Histogram;

  constructor(meter: Meter) {
    this.#operations = meter.createHistogram("messaging.client.operation.duration", {
      unit: "s",
      description: "How long a call that enqueues, claims or hands over outcomes takes.",
      advice: { explicitBucketBoundaries: callBuckets },
    });
    this.#sent = meter.createCounter("messaging.client.sent.messages", {
      unit: "{message}",
      description: "Jobs that were to be enqueued.",
    });
    this.#consumed = meter.createCounter("messaging.client.consumed.messages", {
      unit: "{message}",
      description: "Jobs whose handlers were called.",
    });
    this.#processing = meter.createHistogram("messaging.process.duration", {
      unit: "s",
      description: "How long an attempt takes.",
      advice: { explicitBucketBoundaries: workBuckets },
    });
  }

  /** Begins an enqueue of these kinds; answers what to call at its end. */
  sending(kinds: readonly string[]): (error?: unknown) => void {
    const began = performance.now();
    return (error) => {
      const why = error === undefined ? {} : errorType(error);
      const attributes = { ...enqueueOperation, ...destination(kinds), ...why };
      this.#operations.record(seconds(performance.now() - began), attributes);
      for (const [kind, count] of counted(kinds)) {
        this.#sent.add(count, { ...enqueueOperation, ...destination([kind]), ...why });
      }
    };
  }

  consumed(kind: string): void {
    this.#consumed.add(1, { ...processOperation, ...destination([kind]) });
  }

  processed(finished: FinishedJob): void {
    this.#processing.record(seconds(finished.durationMs), {
      ...processOperation,
      ...destination([finished.kind]),
      ...attemptErrorType(finished),
      "leasehold.outcome": finished.outcome,
    });
  }

  called({ name, durationMs, error }: DatabaseCall): void {
    const attributes: Attributes = { ...system, "messaging.operation.name": name };
    const type = operationTypes[name];
    if (type !== undefined) attributes["messaging.operation.type"] = type;
    this.#operations.record(seconds(durationMs), {
      ...attributes,
      ...(error !== undefined && errorType(error)),
    });
  }
}

function seconds(ms: number): number {
  return ms / 1_000;
}

function counted(kinds: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
