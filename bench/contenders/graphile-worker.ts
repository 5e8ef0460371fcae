import type { Consumer, ConsumerOptions, Contender, NewJob, Producer } from "./contender.ts";
import { load } from "./rivals/load.ts";
import { ask, atRest, type Client, openPool } from "./rivals/pg.ts";

/** What is used of graphile-worker 0.18. */
interface GraphileWorker {
  readonly Logger: new (
    factory: (scope: object) => (level: string, message: string) => void,
  ) => object;
  runMigrations(options: object): Promise<void>;
  makeWorkerUtils(options: object): Promise<WorkerUtils>;
  run(options: object): Promise<{ stop(): Promise<void>; readonly promise: Promise<void> }>;
}

interface WorkerUtils {
  addJob(identifier: string, payload: object, spec: JobSpec): Promise<unknown>;
  withPgClient(use: (client: Client) => Promise<unknown>): Promise<unknown>;
  release(): Promise<void>;
}

interface JobSpec {
  readonly runAt?: Date;
  readonly priority?: number;
}

/** Settings of `preset.worker`. */
interface WorkerSettings {
  readonly concurrentJobs: number;
  readonly maxPoolSize: number;
  readonly localQueue?: { readonly size: number };
  readonly completeJobBatchDelay?: number;
  readonly failJobBatchDelay?: number;
}

type Workers = Readonly<Record<ConsumerOptions["best"], WorkerSettings>>;

/** Each job fetched and completed in a statement of its own; 1, 2 and 10 at a time start none sooner. */
const each = { concurrentJobs: 24, maxPoolSize: 26 };
const plain: Workers = { throughput: each, latency: each };

/**
 * As its own benchmark sets it, but for two: with a local queue of 5,000 a drain took a fifth less CPU
 * time than with 500 to 1,000, and with 10,000 hardly less again; and 24 handlers at a time, which is
 * enough where they do nothing, would have to wait for each other where they wait.
 */
const batch = {
  concurrentJobs: 100,
  maxPoolSize: 102,
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
const batched: Workers = {
  throughput: { ...batch, localQueue: { size: 5_000 } },
  latency: { ...batch, localQueue: { size: 500 } },
};

const producing =
  "SQL add_jobs for many, addJob for one; NO_LOG_SUCCESS; finished jobs are deleted";

export const graphileWorker = contender(
  "graphile-worker",
  plain,
  `concurrentJobs 24, maxPoolSize 26; ${producing}`,
);

export const graphileWorkerBatched = contender(
  "graphile-worker, batched",
  batched,
  "concurrentJobs 100, maxPoolSize 102, localQueue.size 5000, 500 for latency, completeJobBatchDelay " +
    `and failJobBatchDelay 0; ${producing}`,
);

/** A kind is a task identifier of one worker. */
function contender(name: string, workers: Workers, settings: string): Contender {
  return {
    name,
    packages: ["graphile-worker", "pg"],
    settings,
    prepare: (url) => library().runMigrations(options({ connectionString: url })),
    async producer(url, { connections }) {
      return produce(
        await library().makeWorkerUtils(
          options({ connectionString: url, maxPoolSize: connections }),
        ),
      );
    },
    consumer: (url, { kinds, best, run }) => consume(url, workers[best], kinds, run),
    unfinished: (url) => ask(url, "select count(*) from graphile_worker._private_jobs"),
  };
}

/** What `addJobs` of WorkerUtils does, without all rows on their way back: twice as fast. */
const addJobsText = `select count(*) from graphile_worker.add_jobs(array(
    select json_populate_recordset(null::graphile_worker.job_spec, $1::json)
  ))`;

function produce(utils: WorkerUtils): Producer {
  return {
    async enqueueMany(jobs) {
      const specs = JSON.stringify(jobs.map(rowOf));
      await utils.withPgClient((client) => client.query(addJobsText, [specs]));
    },
    async enqueue(job) {
      await utils.addJob(job.kind, { n: job.n }, specOf(job));
    },
    close: () => utils.release(),
  };
}

function rowOf(job: NewJob): object {
  const { runAt, priority } = specOf(job);
  return { identifier: job.kind, payload: { n: job.n }, run_at: runAt, priority };
}

function specOf({ delayMs, priority }: NewJob): JobSpec {
  return {
    ...(delayMs !== undefined && { runAt: new Date(Date.now() + delayMs) }),
    ...(priority !== undefined && { priority }),
  };
}

async function consume(
  url: string,
  { maxPoolSize, ...worker }: WorkerSettings,
  kinds: readonly string[],
  run: ConsumerOptions["run"],
): Promise<Consumer> {
  const pool = openPool(url, maxPoolSize);
  const task = async ({ n }: { n: number }): Promise<void> => run(n);
  const runner = await library().run({
    ...options(worker),
    pgPool: pool,
    noHandleSignals: true,
    parsedCronItems: [],
    taskList: Object.fromEntries(kinds.map((kind) => [kind, task])),
  });
  return {
    async stop() {
      await runner.stop();
      await runner.promise;
      await atRest(pool); // without batches it does not wait for the last completions
      await pool.end();
    },
  };
}

/** Without a line for each job that went well, which is documented for its speed. */
function library(): GraphileWorker {
  process.env.NO_LOG_SUCCESS = "1";
  return load<GraphileWorker>("graphile-worker");
}

function options(worker: object): object {
  const logger = new (library().Logger)(() => (level, message) => {
    if (level === "error" || level === "warning") console.error(message);
  });
  return { preset: { worker: { logger, ...worker } } };
}
