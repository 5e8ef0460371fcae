import { pause } from "../child/clock.ts";
import type { Benchmark } from "../harness/benchmark.ts";
import { figure } from "../harness/figures.ts";
import type { Place } from "../harness/place.ts";
import { Progress } from "../harness/progress.ts";

const kinds = ["noop"];

/** From its one job until it is counted; sessions report their transactions up to ten seconds late. */
const settleMs = 20_000;
const countedMs = 60_000;

export const idle: Benchmark = {
  name: "idle",
  title: "What an idle worker asks",
  about:
    "Transactions of the database a minute (pg_stat_database, commits and rollbacks), while one " +
    "worker with the settings for the shortest way has nothing to do; one minute, from 20 s after " +
    "its only job. leasehold asks every 5 s at first, and every 30 s once it has been idle for ten " +
    "minutes: this is the first.",
  maxRounds: 1,
  cases: [
    {
      name: "one idle worker",
      heavy: true,
      async measure(place) {
        await place.prepare(kinds);
        const consumer = place.start();
        const progress = new Progress([consumer]);
        const given = { url: place.url, kinds, best: "latency", handlerMs: 0 } as const;
        await consumer.call("openConsumer", { ...given, held: false, times: false });
        await place.fill({ from: 0, count: 1, kinds }, { connections: 1 });
        if ((await progress.until(1, place.bench.limitMs)) === undefined) {
          throw new Error("No figure, since its one job did not run");
        }
        const ms = scaledMs(place, countedMs);
        await pause(scaledMs(place, settleMs));
        const before = await place.bench.server.transactions(place.url);
        await pause(ms);
        const after = await place.bench.server.transactions(place.url);
        await consumer.call("stop", {});
        const perMinute = (after - before) / (ms / 60_000);
        return { figures: [figure("transactions", "a minute", "less", perMinute)] };
      },
    },
  ],
};

/** A trial does not wait for a minute. */
function scaledMs({ bench }: Place, ms: number): number {
  return Math.max(1_000, ms * Math.min(1, bench.scale));
}
