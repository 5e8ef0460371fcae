import type { Plan } from "../child/plan.ts";
import type { Span } from "../child/protocol.ts";
import type { Benchmark, Case } from "../harness/benchmark.ts";
import type { Child } from "../harness/child-process.ts";
import { type Figure, figure } from "../harness/figures.ts";
import type { Place } from "../harness/place.ts";

const kinds = ["noop"] as const;
const perCall = 5_000;
const bulkJobs = 100_000;

/** Thrown away at the start of each round: connections, plans and compiled code come with them. */
const warmUpCalls = 50;

export const enqueue: Benchmark = {
  name: "enqueue",
  title: "Enqueue",
  about:
    "In bulk: 100,000 jobs, 5,000 a call, over one and two connections; the first call on each " +
    "connection is thrown away. Single: one job a call and a commit of its own, one client or 16 " +
    "at a time; the first 50 calls are thrown away. Counted afterwards: what the queue says is in it.",
  cases: [
    bulk("bulk, 1 connection", 1),
    bulk("bulk, 2 connections", 2),
    single("single, 1 client", 1, 2_000),
    single("single, 16 clients", 16, 10_000),
  ],
};

function bulk(name: string, connections: number): Case {
  return {
    name,
    async measure(place) {
      const count = place.scaled(bulkJobs);
      const size = Math.min(perCall, count);
      const warmUp = { from: 0, count: size * connections, kinds };
      const plan = { from: warmUp.count, count, kinds };
      return measured(place, connections, plan, async (child, timed) => {
        if (!timed) return child.call("fill", { plan: warmUp, perCall: size });
        return child.call("fill", { plan, perCall: size });
      });
    },
  };
}

function single(name: string, clients: number, jobs: number): Case {
  return {
    name,
    async measure(place) {
      const plan = { from: warmUpCalls, count: place.scaled(jobs), kinds };
      return measured(place, clients, plan, async (child, timed) => {
        const warmUp = { from: 0, count: warmUpCalls, kinds };
        return child.call("trickle", { plan: timed ? plan : warmUp, clients });
      });
    },
  };
}

async function measured(
  place: Place,
  connections: number,
  plan: Plan,
  run: (child: Child, timed: boolean) => Promise<Span>,
): Promise<{ figures: Figure[] }> {
  await place.prepare(kinds);
  const child = place.start();
  await child.call("openProducer", { url: place.url, connections });
  await run(child, false);
  const cpuBefore = place.bench.cpuSeconds();
  const { fromMs, toMs } = await run(child, true);
  const cpuAfter = place.bench.cpuSeconds();
  const unfinished = await child.call("unfinished", { url: place.url });
  const enqueued = plan.from + plan.count;
  if (unfinished !== enqueued) {
    throw new Error(`No figure, since ${enqueued} jobs were enqueued and ${unfinished} are there`);
  }
  const figures = [figure("rate", "jobs/s", "more", plan.count / ((toMs - fromMs) / 1_000))];
  if (cpuBefore !== undefined && cpuAfter !== undefined) {
    const cpuUs = ((cpuAfter - cpuBefore) / plan.count) * 1e6;
    figures.push(figure("CPU of the database", "µs a job", "less", cpuUs));
  }
  return { figures };
}
