import type { ProviderBehaviour } from "../scenarios.ts";

/** What the provider knows when a message is asked for. */
export interface Visit {
  /** 1 for the first time that this message is asked for. */
  readonly request: number;
  /** Since the last answer about this message; null at the first request. */
  readonly sinceLastMs: number | null;
  /** Whether the API key has been given its rights. */
  readonly rightsGranted: boolean;
}

export interface Answer {
  readonly status: 200 | 401 | 404 | 429 | 503;
  /** How the message is sent when it is sent. */
  readonly delivery?: "at once" | "slowly" | "held";
  readonly retryAfterSeconds?: number;
  /** Stands in the provider's log. */
  readonly note: string;
}

const served: Answer = { status: 200, delivery: "at once", note: "sent" };
const held: Answer = { status: 200, delivery: "held", note: "held back in the middle" };
/** Longer than the demo's backoff and than the first rush: who ignores it comes too early. */
const retryAfterSeconds = 2;

/** Decides what the provider answers. Only facts go in, so the script can be tested without time. */
export function answer(behaviour: ProviderBehaviour, visit: Visit): Answer {
  switch (behaviour) {
    case "serves":
      return served;
    case "unavailable twice":
      return visit.request <= 2 ? { status: 503, note: "pretended to be overloaded" } : served;
    case "throttles once":
      return throttle(visit);
    case "knows nothing":
      return { status: 404, note: "no such message" };
    case "refuses until rights are granted":
      return visit.rightsGranted ? served : { status: 401, note: "the API key has no rights yet" };
    case "sends slowly":
      return { status: 200, delivery: "slowly", note: "sent slowly" };
    case "holds the first answer":
      return visit.request <= 1 ? held : served;
    case "holds the first two answers":
      return visit.request <= 2 ? held : served;
  }
}

/** Who comes back before the time is over is sent away again: the wait is checked, not trusted. */
function throttle({ sinceLastMs }: Visit): Answer {
  if (sinceLastMs === null) {
    return { status: 429, retryAfterSeconds, note: `asked to wait ${retryAfterSeconds} s` };
  }
  const waited = `came back after ${Math.round(sinceLastMs)} ms`;
  return sinceLastMs < retryAfterSeconds * 1000
    ? { status: 429, retryAfterSeconds, note: `${waited}: too early` }
    : { ...served, note: `sent: ${waited}` };
}
