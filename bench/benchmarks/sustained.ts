import { nowMs, pause } from "../child/clock.ts";
import type { Benchmark } from "../harness/benchmark.ts";
import { checkRuns } from "../harness/check.ts";
import { figure, type Series } from "../harness/figures.ts";
import type { Place } from "../harness/place.ts";
import { Progress } from "../harness/progress.ts";
import { keepPruned } from "../harness/pruning.ts";

const kinds = ["noop"];

/** Never more jobs ahead of the consumer, and so many a call. */
const ahead = 20_000;
const perCall = 5_000;

/** How many times the tables are looked at. */
const looks = 90;

/** Autovacuum as it is by default, save that it comes as often as a busy server needs it. */
const settings = { autovacuum_naptime: "5s" };

/** Finished jobs are deleted after so long, where the queue keeps any. */
const retainMs = 60_000;

export const sustained: Benchmark = {
  name: "sustained",
  title: "Under load for a quarter of an hour",
  about:
    "Jobs that do nothing are enqueued, 5,000 a call over two connections, and drained at the same " +
    "time, never more than 20,000 ahead. Autovacuum has PostgreSQL's default settings but for " +
    "autovacuum_naptime = 5s (default 1 min). A queue that keeps finished jobs is pruned each second " +
    "of those that finished more than a minute ago. On the way: the rate, the size of all tables and " +
    "indexes, the dead rows that PostgreSQL counts, the consumer's resident memory.",
  long: true,
  maxRounds: 1,
  cases: [{ name: "enqueued, drained and pruned", measure }],
};

/** The state at one moment. */
interface Look {
  readonly seconds: number;
  readonly rate: number;
  readonly tablesMb: number;
  readonly indexesMb: number;
  readonly dead: number;
  readonly memoryMb: number;
}

async function measure(place: Place) {
  const { server, minutes } = place.bench;
  await place.prepare(kinds);
  await server.set(settings);
  try {
    const seconds = minutes * 60;
    const { all, looked } = await loadFor(place, seconds);
    const tenth = Math.max(1, Math.floor(looked.length / 10));
    const mean = (some: readonly Look[]): number =>
      some.reduce((sum, { rate }) => sum + rate, 0) / some.length;
    const last = looked.at(-1) as Look;
    const most = (of: (look: Look) => number): number => Math.max(...looked.map(of));
    return {
      figures: [
        figure("rate over all", "jobs/s", "more", all),
        figure("rate over the first tenth", "jobs/s", "more", mean(looked.slice(0, tenth))),
        figure("rate over the last tenth", "jobs/s", "more", mean(looked.slice(-tenth))),
        figure("tables, at the end", "MB", "less", last.tablesMb),
        figure("indexes, at the end", "MB", "less", last.indexesMb),
        figure(
          "dead rows, at most",
          "rows",
          "less",
          most(({ dead }) => dead),
        ),
        figure(
          "resident memory, at most",
          "MB",
          "less",
          most(({ memoryMb }) => memoryMb),
        ),
      ],
      series: seriesOf(looked),
    };
  } finally {
    await server.reset();
  }
}

async function loadFor(place: Place, seconds: number) {
  const consumer = place.start();
  const producer = place.start();
  const progress = new Progress([consumer]);
  let memoryMb = 0;
  const follow = consumer.onRan;
  consumer.onRan = (atMs, mb) => {
    memoryMb = mb;
    follow(atMs, mb);
  };
  await producer.call("openProducer", { url: place.url, connections: 2 });
  const given = { url: place.url, kinds, best: "throughput", handlerMs: 0 } as const;
  await consumer.call("openConsumer", { ...given, held: false, times: false });

  const fromMs = nowMs();
  const endMs = fromMs + seconds * 1_000;
  const producing = produce(place, producer, progress, endMs);
  const pruning = keepPruned(place, retainMs, endMs);
  const looking = lookAt(place, consumer, fromMs, endMs, () => memoryMb);
  const [enqueued, , looked] = await Promise.all([producing, pruning, looking]);
  const ran = consumer.ran;
  const all = ran / ((nowMs() - fromMs) / 1_000);
  await finish(place, consumer, progress, enqueued);
  return { all, looked };
}

/** Two calls at a time; answers how many jobs were enqueued. */
async function produce(
  place: Place,
  producer: ReturnType<Place["start"]>,
  progress: Progress,
  endMs: number,
): Promise<number> {
  const size = place.scaled(perCall);
  const most = place.scaled(ahead);
  let enqueued = 0;
  while (nowMs() < endMs) {
    const count = 2 * size;
    await progress.until(enqueued + count - most, endMs - nowMs());
    await producer.call("fill", { plan: { from: enqueued, count, kinds }, perCall: size });
    enqueued += count;
  }
  return enqueued;
}

async function lookAt(
  place: Place,
  consumer: ReturnType<Place["start"]>,
  fromMs: number,
  endMs: number,
  memoryMb: () => number,
): Promise<Look[]> {
  const everyMs = (endMs - fromMs) / looks;
  const looked: Look[] = [];
  const client = await place.connect();
  let before = { ran: 0, atMs: fromMs };
  for (let at = fromMs + everyMs; at <= endMs; at += everyMs) {
    await pause(Math.max(0, at - nowMs()));
    const now = { ran: consumer.ran, atMs: nowMs() };
    const { rows } = await client.query(sizes);
    looked.push({
      seconds: (now.atMs - fromMs) / 1_000,
      rate: (now.ran - before.ran) / ((now.atMs - before.atMs) / 1_000),
      tablesMb: Number(rows[0].tables) / 1e6,
      indexesMb: Number(rows[0].indexes) / 1e6,
      dead: Number(rows[0].dead),
      memoryMb: memoryMb(),
    });
    before = now;
  }
  await client.end();
  return looked;
}

const sizes = `
  select sum(pg_table_size(relid)) as tables, sum(pg_indexes_size(relid)) as indexes,
    sum(n_dead_tup) as dead
  from pg_stat_user_tables`;

async function finish(
  place: Place,
  consumer: ReturnType<Place["start"]>,
  progress: Progress,
  enqueued: number,
): Promise<void> {
  await progress.until(enqueued, place.bench.limitMs);
  await consumer.call("stop", {});
  const runs = await consumer.call("runs", {});
  const unfinished = await consumer.call("unfinished", { url: place.url });
  checkRuns([runs], { due: enqueued, all: true, waiting: 0, unfinished });
}

function seriesOf(looked: readonly Look[]): Series[] {
  const series = (name: string, y: string, of: (look: Look) => number): Series => ({
    ...{ name, y, x: "seconds" },
    points: looked.map((look) => [look.seconds, of(look)] as const),
  });
  return [
    series("rate", "jobs/s", ({ rate }) => rate),
    series("tables", "MB", ({ tablesMb }) => tablesMb),
    series("indexes", "MB", ({ indexesMb }) => indexesMb),
    series("dead rows", "rows", ({ dead }) => dead),
    series("memory", "MB", ({ memoryMb }) => memoryMb),
  ];
}
