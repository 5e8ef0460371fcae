import type { Database } from "./database.ts";
import {
  type Finish,
  type FinishManyAnswer,
  isRefusal,
  type OutcomeArguments,
  statusIn,
} from "./record.ts";

/** Outcomes in one call, at the most. */
const maxOutcomes = 500;

/** Results in one call, at the most, in characters of JSON: a call is parsed as one value. */
const maxCharacters = 8_000_000;

interface Waiting {
  readonly outcome: OutcomeArguments;
  resolve(status: Awaited<ReturnType<Finish>>): void;
  reject(error: unknown): void;
}

/**
 * Sends the outcomes that pile up while a call is under way together with the next one: nothing
 * waits for company, and one commit serves many jobs.
 *
 * A call that hangs holds up the outcomes behind it, so `call` must come to an end by itself.
 */
export function finishTogether(call: Database["call"]): Finish {
  let waiting: Waiting[] = [];
  let underWay = false;

  async function sendAll(): Promise<void> {
    // The handlers of one claim tend to end in one turn of the event loop.
    await new Promise((resolve) => (globalThis.setImmediate ?? setTimeout)(resolve, 0));
    while (waiting.length > 0) {
      const [batch, rest] = nextBatch(waiting);
      waiting = rest;
      await send(call, batch);
    }
    underWay = false;
  }

  return (outcome) =>
    new Promise((resolve, reject) => {
      waiting.push({ outcome, resolve, reject });
      if (underWay) return;
      underWay = true;
      void sendAll();
    });
}

/** What fits into one call. A job twice, under two claims, goes in two. */
function nextBatch(waiting: readonly Waiting[]): [Waiting[], Waiting[]] {
  const batch: Waiting[] = [];
  const rest: Waiting[] = [];
  const ids = new Set<string>();
  let characters = 0;
  for (const each of waiting) {
    const { id, result } = each.outcome;
    const more = charactersOf(result);
    const fits = batch.length < maxOutcomes && characters + more <= maxCharacters && !ids.has(id);
    if (fits || batch.length === 0) {
      batch.push(each);
      ids.add(id);
      characters += more;
    } else rest.push(each);
  }
  return [batch, rest];
}

function charactersOf(result: unknown): number {
  if (typeof result === "string") return result.length; // without a copy of it
  return typeof result === "object" ? JSON.stringify(result).length : 0;
}

/** Never rejects: whoever waits is told. */
async function send(call: Database["call"], batch: readonly Waiting[]): Promise<void> {
  try {
    const outcomes = batch.map(({ outcome }) => outcome);
    const answer = (await call("finish_many", { p_outcomes: outcomes })) as FinishManyAnswer;
    for (const { outcome, resolve } of batch) resolve(statusIn(answer, outcome.id));
  } catch (error) {
    if (batch.length === 1 || !isRefusal(error)) {
      for (const { reject } of batch) reject(error);
      return;
    }
    // One of them is not to be stored, and must not keep the others from it.
    for (const each of batch) await send(call, [each]);
  }
}
