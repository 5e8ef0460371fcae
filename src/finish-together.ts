import type { Database } from "./database.ts";
import {
  type Finish,
  type FinishManyAnswer,
  isRefusal,
  type OutcomeArguments,
  type StatusOf,
  statusesIn,
} from "./record.ts";

/** Outcomes in one call, at the most. */
const maxOutcomes = 500;

/** Results in one call, at the most, in characters of JSON: a call is parsed as one value. */
const maxCharacters = 8_000_000;

/** With so many outcomes waiting, a second call goes beside the one that is under way. */
const manyOutcomes = 200;

/** Runs in the next turn of the event loop. */
const later: (run: () => void) => unknown = globalThis.setImmediate ?? setTimeout;

/** Hands over outcomes in one call, and answers what became of each. */
export type Carry = (outcomes: readonly OutcomeArguments[]) => Promise<StatusOf>;

interface Waiting {
  readonly outcome: OutcomeArguments;
  resolve(status: Awaited<ReturnType<Finish>>): void;
  reject(error: unknown): void;
}

/**
 * Sends the outcomes that pile up while a call is under way together with the next one: nothing
 * waits for company, and one commit serves many jobs.
 *
 * `carrierFor` is asked before each call whether something else makes the same way: a claim for the
 * slots that these outcomes free. Where its call is refused, the outcomes go again without it.
 *
 * A call that hangs holds up the outcomes behind it, so each must come to an end by itself.
 */
export function finishTogether(
  call: Database["call"],
  carrierFor: (freed: number) => Carry | undefined = () => undefined,
): Finish {
  let waiting: Waiting[] = [];
  let underWay = 0;
  let planned = false;

  const alone: Carry = async (outcomes) =>
    statusesIn((await call("finish_many", { p_outcomes: outcomes })) as FinishManyAnswer);

  function plan(): void {
    if (planned || waiting.length === 0) return;
    if (underWay > 0 && (underWay > 1 || waiting.length < manyOutcomes)) return;
    planned = true;
    // The handlers of one claim tend to end in one turn of the event loop.
    later(sendNext);
  }

  function sendNext(): void {
    planned = false;
    const [batch, rest] = nextBatch(waiting);
    waiting = rest;
    underWay += 1;
    void send(batch, alone, carrierFor(batch.length)).then(() => {
      underWay -= 1;
      plan();
    });
    plan();
  }

  return (outcome) =>
    new Promise((resolve, reject) => {
      waiting.push({ outcome, resolve, reject });
      plan();
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
  return typeof result === "object" && result !== null ? JSON.stringify(result).length : 0;
}

/** Never rejects: whoever waits is told. */
async function send(
  batch: readonly Waiting[],
  alone: Carry,
  carry: Carry | undefined,
): Promise<void> {
  try {
    const statusOf = await (carry ?? alone)(batch.map(({ outcome }) => outcome));
    for (const { outcome, resolve } of batch) resolve(statusOf(outcome));
  } catch (error) {
    if (!isRefusal(error) || (batch.length === 1 && carry === undefined)) {
      for (const { reject } of batch) reject(error);
    } else if (carry !== undefined) {
      await send(batch, alone, undefined); // what was refused may be the claim
    } else {
      // One of them is not to be stored, and must not keep the others from it.
      for (const each of batch) await send([each], alone, undefined);
    }
  }
}
