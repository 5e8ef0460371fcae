import type { Contender, Producer } from "../contenders/contender.ts";
import { nowMs, pause } from "./clock.ts";
import { callsOf, jobOf, type Plan } from "./plan.ts";
import type { Given, Paced, Span } from "./protocol.ts";

/** The producer's side of a child. */
export class Producing {
  readonly #contender: Contender;
  #producer: Producer | undefined;
  #connections = 1;

  constructor(contender: Contender) {
    this.#contender = contender;
  }

  async open({ url, connections }: Given<"openProducer">): Promise<void> {
    await this.#producer?.close();
    this.#connections = connections;
    this.#producer = await this.#contender.producer(url, { connections });
  }

  fill({ plan, perCall }: Given<"fill">): Promise<Span> {
    const calls = callsOf(plan, perCall);
    return together(this.#connections, calls, (jobs) => this.#opened().enqueueMany(jobs));
  }

  trickle({ plan, clients }: Given<"trickle">): Promise<Span> {
    return together(clients, callsOf(plan, 1), ([job]) =>
      job === undefined ? Promise.resolve() : this.#opened().enqueue(job),
    );
  }

  async pace({ plan, atMs }: Given<"pace">): Promise<Paced> {
    const calledMs: number[] = [];
    const answeredMs: number[] = [];
    const calls: Promise<void>[] = [];
    const beginMs = nowMs();
    for (const [i, at] of atMs.entries()) {
      for (let left = beginMs + at - nowMs(); left > 0; left = beginMs + at - nowMs()) {
        await pause(left);
      }
      calledMs[i] = nowMs();
      calls.push(this.#one(plan, i, answeredMs));
    }
    await Promise.all(calls);
    return { calledMs, answeredMs };
  }

  async #one(plan: Plan, i: number, answeredMs: number[]): Promise<void> {
    await this.#opened().enqueue(jobOf(plan, plan.from + i));
    answeredMs[i] = nowMs();
  }

  #opened(): Producer {
    if (this.#producer === undefined) throw new Error("No producer is open: call openProducer.");
    return this.#producer;
  }
}

/** So many take turns with what is to be done, until nothing is left. */
async function together<T>(
  width: number,
  all: Iterator<T>,
  one: (each: T) => Promise<void>,
): Promise<Span> {
  const fromMs = nowMs();
  const worker = async (): Promise<void> => {
    for (let next = all.next(); !next.done; next = all.next()) await one(next.value);
  };
  await Promise.all(Array.from({ length: width }, worker));
  return { fromMs, toMs: nowMs() };
}
