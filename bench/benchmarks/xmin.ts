import type { Benchmark } from "../harness/benchmark.ts";
import { type DrainGiven, drain } from "../harness/drain.ts";
import { drainedFigures } from "../harness/drained.ts";
import { figure } from "../harness/figures.ts";
import type { Place } from "../harness/place.ts";
import { ratesPer } from "../harness/statistics.ts";

const jobs = 1_000_000;
const stretch = 50_000;
const kinds = ["noop"];

export const xmin: Benchmark = {
  name: "xmin",
  title: "A million jobs while another transaction is open",
  about:
    "Another session holds a snapshot (repeatable read) from before the drain to its end, so that " +
    "vacuum can remove none of the row versions that claims and completions leave: a long report, a " +
    "forgotten session, a replica that lags. The rate over each 50,000 jobs. After the time limit a " +
    "run is ended, and said so.",
  long: true,
  maxRounds: 3,
  cases: [
    {
      name: "a snapshot is held",
      async measure(place) {
        const due = place.scaled(jobs);
        await place.prepare(kinds);
        await place.fill({ from: 0, count: due, kinds });
        await place.settle();
        const given = { kinds, consumers: 1, due };
        const drained = await underSnapshot(place, given);
        const from = { ran: drained.steps[0]?.ran ?? 0, atMs: drained.fromMs };
        const rates = ratesPer(place.scaled(stretch), drained.steps, from);
        const [whole, ...rest] = drainedFigures(drained, place.bench.limitMs);
        const first = rates[0]?.[1] ?? Number.NaN;
        const last = rates.at(-1)?.[1] ?? Number.NaN;
        return {
          figures: [
            figure("rate over the last 50,000", "jobs/s", "more", last, whole?.note),
            figure("rate over the first 50,000", "jobs/s", "more", first),
            ...(whole === undefined ? [] : [{ ...whole, name: "rate over all" }]),
            ...rest,
          ],
          series: [{ name: "rate", x: "jobs run", y: "jobs/s", points: rates }],
        };
      },
    },
  ],
};

async function underSnapshot(place: Place, given: DrainGiven) {
  const other = await place.connect();
  try {
    await other.query("begin isolation level repeatable read");
    await other.query("select 1"); // the snapshot is taken by the first statement
    return await drain(place, given);
  } finally {
    await other.end();
  }
}
