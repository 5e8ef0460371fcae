import { pause } from "../child/clock.ts";
import type { Benchmark } from "../harness/benchmark.ts";
import { checkRuns } from "../harness/check.ts";
import type { Child } from "../harness/child-process.ts";
import { type Figure, figure } from "../harness/figures.ts";
import type { Place } from "../harness/place.ts";
import { Progress } from "../harness/progress.ts";
import { percentile, randomFrom } from "../harness/statistics.ts";

const kinds = ["noop"];
const clients = 16;
const idleSamples = 500;
const loadSamples = 2_000;

/** Samples thrown away at the start. */
const warmUp = 50;

/** Between what comes before the samples and the first of them. */
const settleMs = 1_000;

/** More than this a producer with timers of 1 ms can't time well. */
const mostPerSecond = 2_000;

export const latency: Benchmark = {
  name: "latency",
  title: "From enqueue to start",
  about:
    "From the enqueue's call, which commits by itself, to the handler's first line, in another " +
    "process. On an idle queue: one job every 15 to 25 ms, 500 of them. At half load: first 2,000 " +
    "jobs are enqueued by 16 clients as fast as they can while the consumer runs them; then 2,000 " +
    "come at random moments, half as many a second, at most 2,000, and none waits for the one " +
    "before. The first 50 are thrown away.",
  once: true,
  cases: [
    {
      name: "idle queue",
      async measure(place) {
        await place.prepare(kinds);
        const producer = await openProducer(place);
        const consumer = await openConsumer(place);
        await producer.call("trickle", { plan: { from: 0, count: 1, kinds }, clients: 1 });
        await consumer.until(1);
        await pause(settleMs);
        const gaps = { mean: 20, of: (random: number) => 15 + 10 * random };
        return {
          figures: await sample(place, producer, consumer, 1, place.scaled(idleSamples), gaps),
        };
      },
    },
    {
      name: "half load",
      async measure(place) {
        await place.prepare(kinds);
        const producer = await openProducer(place);
        const consumer = await openConsumer(place);
        const count = place.scaled(loadSamples);
        const load = Math.min((await flatOut(producer, consumer, count)) / 2, mostPerSecond);
        await pause(settleMs);
        // Exponential gaps: each moment is as likely as any other.
        const mean = 1_000 / load;
        const gaps = { mean, of: (random: number) => -Math.log(1 - random) * mean };
        const figures = await sample(place, producer, consumer, count, count, gaps);
        return { figures: [...figures, figure("load", "jobs/s", "more", load)] };
      },
    },
  ],
};

interface OpenConsumer {
  readonly child: Child;
  /** When so many had begun. */
  until(ran: number): Promise<number>;
}

interface Gaps {
  readonly mean: number;
  /** Milliseconds to the next job, from a random number. */
  of(random: number): number;
}

async function openProducer(place: Place): Promise<Child> {
  const child = place.start();
  await child.call("openProducer", { url: place.url, connections: clients });
  return child;
}

async function openConsumer(place: Place): Promise<OpenConsumer> {
  const child = place.start();
  const progress = new Progress([child]);
  const given = { url: place.url, kinds, best: "latency", handlerMs: 0 } as const;
  await child.call("openConsumer", { ...given, held: false, times: true });
  return {
    child,
    async until(ran) {
      const step = await progress.until(ran, place.bench.limitMs);
      if (step !== undefined) return step.atMs;
      const seconds = place.bench.limitMs / 1_000;
      throw new Error(`No figure, since ${child.ran} of ${ran} jobs began within ${seconds} s`);
    },
  };
}

/** How many a second go through both while the producer enqueues as fast as it can. */
async function flatOut(producer: Child, consumer: OpenConsumer, count: number): Promise<number> {
  const plan = { from: 0, count, kinds };
  const { fromMs, toMs } = await producer.call("trickle", { plan, clients });
  const ranMs = await consumer.until(count);
  return count / ((Math.max(toMs, ranMs) - fromMs) / 1_000);
}

/** Jobs from number `from` on, one gap apart from the other. */
async function sample(
  place: Place,
  producer: Child,
  consumer: OpenConsumer,
  from: number,
  samples: number,
  gaps: Gaps,
): Promise<Figure[]> {
  const random = randomFrom(20);
  const count = samples + warmUp;
  let at = 0;
  const atMs = Array.from({ length: count }, () => {
    at += gaps.of(random());
    return at;
  });
  const plan = { from, count, kinds };
  const { calledMs, answeredMs } = await producer.call("pace", { plan, atMs });
  await consumer.until(from + count);
  await consumer.child.call("stop", {});
  const runs = await consumer.child.call("runs", {});
  const unfinished = await producer.call("unfinished", { url: place.url });
  checkRuns([runs], { due: from + count, all: true, waiting: 0, unfinished });

  const numbers = Array.from({ length: samples }, (_, i) => warmUp + i);
  const waits = numbers.map((i) => (runs.startedMs[from + i] as number) - (calledMs[i] as number));
  const calls = numbers.map((i) => (answeredMs[i] as number) - (calledMs[i] as number));
  // A producer that is late with its calls is no load: then the figure says so.
  const tookMs = (calledMs.at(-1) as number) - (calledMs[0] as number);
  const share = (gaps.mean * count) / tookMs;
  const note =
    share < 0.9 ? `the calls came at ${Math.round(share * 100)} % of the load` : undefined;
  return [
    figure("p50", "ms", "less", percentile(waits, 50), note),
    figure("p95", "ms", "less", percentile(waits, 95)),
    figure("p99", "ms", "less", percentile(waits, 99)),
    figure("the enqueue's call alone, p50", "ms", "less", percentile(calls, 50)),
  ];
}
