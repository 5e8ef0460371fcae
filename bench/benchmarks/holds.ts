import type { Benchmark } from "../harness/benchmark.ts";
import { drain } from "../harness/drain.ts";
import { drainedFigures } from "../harness/drained.ts";
import { figure } from "../harness/figures.ts";
import type { Place } from "../harness/place.ts";

const jobs = 50_000;
const perCall = 5_000;
const kinds = ["noop"];

export const holds: Benchmark = {
  name: "holds",
  title: "Jobs that cost credits",
  about:
    "50,000 jobs without a cost, and with a credit each that their enqueue holds and their completion " +
    "captures: all of one account, or of a thousand accounts in turn. They are enqueued 5,000 a call " +
    "over two connections, then drained by one process. Afterwards the books must balance " +
    "(`verify_credits`), and every job's credit must be captured.",
  contenders: ["leasehold", "leasehold, many accounts", "leasehold, one account"],
  once: true,
  cases: [
    {
      name: "50,000 jobs",
      async measure(place) {
        const due = place.scaled(jobs);
        await place.prepare(kinds);
        const enqueued = await enqueue(place, due);
        await place.settle();
        const drained = await drain(place, { kinds, consumers: 1, due });
        await checkBooks(place, place.contender === "leasehold" ? 0 : due);
        const [rate, ...rest] = drainedFigures(drained, place.bench.limitMs);
        return {
          figures: [
            ...(rate === undefined ? [] : [{ ...rate, name: "drain" }]),
            figure("bulk enqueue, 2 connections", "jobs/s", "more", enqueued),
            ...rest,
          ],
        };
      },
    },
  ],
};

async function enqueue(place: Place, count: number): Promise<number> {
  const child = place.start();
  await child.call("openProducer", { url: place.url, connections: 2 });
  const plan = { from: 0, count, kinds };
  const { fromMs, toMs } = await child.call("fill", { plan, perCall });
  await child.kill();
  return count / ((toMs - fromMs) / 1_000);
}

async function checkBooks(place: Place, captured: number): Promise<void> {
  const [row] = await place.query(`
    select leasehold.verify_credits() ->> 'ok' as ok,
      (select count(*)::int from leasehold.holds where state = 'captured') as captured`);
  if (row?.ok !== "true" || row.captured !== captured) {
    throw new Error(
      `No figure, since the books balance: ${row?.ok}, and ${row?.captured} of ${captured} credits are captured`,
    );
  }
}
