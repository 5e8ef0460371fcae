import type { Consumer, ConsumerOptions, Contender, NewJob, Producer } from "./contender.ts";
import { load } from "./rivals/load.ts";
import { ask, withClient } from "./rivals/pg.ts";

/** What is used of pg-boss 12. */
interface Library {
  readonly PgBoss: new (options: object) => Boss;
}

interface Boss {
  on(event: "error" | "warning", listener: (what: unknown) => void): void;
  start(): Promise<unknown>;
  stop(options: { timeout: number }): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  insert(name: string, jobs: readonly JobOptions[]): Promise<unknown>;
  send(name: string, data: object, options: JobOptions): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: BossJob[]) => Promise<void>): Promise<string>;
}

interface JobOptions {
  readonly data?: object;
  readonly startAfter?: Date;
  readonly priority?: number;
}

interface BossJob {
  readonly data: { readonly n: number };
}

/** Options of `work`. */
interface WorkOptions {
  readonly batchSize: number;
  readonly localConcurrency: number;
  readonly burstWhenBatchFull: boolean;
  readonly pollingIntervalSeconds: number;
}

/** Half a second is the least that it takes between polls. */
const always = { localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };

/**
 * Of each queue. A drain took a quarter more CPU time in batches of 500, and no less in batches of
 * 5,000 or with four at a time; with one at a time it was slower, and latency's p99 twice as long.
 */
const works: Readonly<Record<ConsumerOptions["best"], WorkOptions>> = {
  throughput: { batchSize: 2_000, ...always },
  latency: { batchSize: 100, ...always },
};

const settings =
  "a queue for each kind; insert for many, send for one; batchSize 2000, 100 for latency; " +
  "localConcurrency 2, 1 where there are several queues; burstWhenBatchFull, " +
  "pollingIntervalSeconds 0.5";

/** Jobs that fall due later are not told: those it finds by its polls, which are 30 s apart then. */
const notifying =
  "useListenNotify, notify on each queue, notifyPollingIntervalSeconds 30 as it is by default";

export const pgBoss = contender("pg-boss", { notify: false });

/** Its producers tell its workers of each job, which slows them. */
export const pgBossNotify = contender("pg-boss, notify", { notify: true });

function contender(name: string, { notify }: { notify: boolean }): Contender {
  return {
    name,
    packages: ["pg-boss", "pg"],
    settings: notify ? `${settings}; ${notifying}` : settings,
    async prepare(url, kinds) {
      const boss = await start({ connectionString: url, ...aside });
      for (const kind of kinds) await boss.createQueue(kind, { notify });
      await boss.stop({ timeout });
    },
    async producer(url, { connections }) {
      const own = { migrate: false, ...aside };
      return produce(await start({ connectionString: url, max: connections, ...own }));
    },
    async consumer(url, { kinds, best, run }) {
      const own = { migrate: false, schedule: false, useListenNotify: notify };
      return consume(await start({ connectionString: url, ...own }), kinds, works[best], run);
    },
    unfinished: (url) =>
      ask(url, "select count(*) from pgboss.job where state in ('created', 'retry', 'active')"),
    prune: (url, olderThanMs) =>
      withClient(url, async (client) => (await client.query(pruneText, [olderThanMs])).rows.length),
  };
}

const pruneText = `delete from pgboss.job job using (
    select name, id from pgboss.job
    where state = 'completed' and completed_on < now() - $1 * interval '1 ms' limit 10000
  ) old where job.name = old.name and job.id = old.id returning 1`;

/** Of an instance that only produces: it leaves maintenance and schedules to others. */
const aside = { supervise: false, schedule: false };

/** How long `stop` waits for handlers, in milliseconds. */
const timeout = 60_000;

async function start(options: object): Promise<Boss> {
  const boss = new (load<Library>("pg-boss").PgBoss)(options);
  boss.on("error", (error) => console.error(error));
  boss.on("warning", (warning) => console.error(warning));
  await boss.start();
  return boss;
}

function produce(boss: Boss): Producer {
  return {
    async enqueueMany(jobs) {
      const byKind = Map.groupBy(jobs, ({ kind }) => kind);
      await Promise.all(
        [...byKind].map(([kind, some]) =>
          boss.insert(
            kind,
            some.map((job) => ({ data: { n: job.n }, ...optionsOf(job) })),
          ),
        ),
      );
    },
    async enqueue(job) {
      await boss.send(job.kind, { n: job.n }, optionsOf(job));
    },
    close: () => boss.stop({ timeout }),
  };
}

/** Its higher priorities come first. */
function optionsOf({ delayMs, priority }: NewJob): JobOptions {
  return {
    ...(delayMs !== undefined && { startAfter: new Date(Date.now() + delayMs) }),
    ...(priority !== undefined && { priority: -priority }),
  };
}

async function consume(
  boss: Boss,
  kinds: readonly string[],
  options: WorkOptions,
  run: ConsumerOptions["run"],
): Promise<Consumer> {
  const handler = async (jobs: BossJob[]): Promise<void> => {
    await Promise.all(jobs.map(({ data }) => run(data.n)));
  };
  const localConcurrency = kinds.length === 1 ? options.localConcurrency : 1;
  for (const kind of kinds) await boss.work(kind, { ...options, localConcurrency }, handler);
  return { stop: () => boss.stop({ timeout }) };
}
