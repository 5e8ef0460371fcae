import { randomUUID } from "node:crypto";
import type { Consumer, ConsumerOptions, Contender, NewJob, Producer } from "./contender.ts";
import { load } from "./rivals/load.ts";
import { ask, openPool, type Pool } from "./rivals/pg.ts";

/** What is used of DBOS 5. */
interface Library {
  readonly DBOS: {
    migrate(url: string): Promise<void>;
    setConfig(config: object): void;
    registerWorkflow(run: (payload: Payload) => Promise<void>, options: { name: string }): unknown;
    launch(): Promise<void>;
    registerQueue(name: string, options: object): Promise<unknown>;
    shutdown(options: { workflowCompletionTimeoutMS: number }): Promise<void>;
  };
  readonly DBOSClient: { create(options: object): Promise<Client> };
}

interface Client {
  enqueue(options: EnqueueOptions, payload: Payload): Promise<unknown>;
  enqueueInTransaction(client: object, options: EnqueueOptions, payload: Payload): Promise<unknown>;
  destroy(): Promise<void>;
}

interface EnqueueOptions {
  readonly queueName: string;
  readonly workflowName: string;
  readonly delaySeconds?: number;
  /** Lower first, from 0, which is also that of workflows without. */
  readonly priority?: number;
}

interface Payload {
  readonly n: number;
}

const application = "bench";
const queue = "jobs";

/** Options of the queue. */
const queues: Readonly<Record<ConsumerOptions["best"], object>> = {
  throughput: { minPollingIntervalMs: 10, workerConcurrency: 1_000 },
  latency: { minPollingIntervalMs: 10 },
};

export const dbos: Contender = {
  name: "DBOS",
  packages: ["@dbos-inc/dbos-sdk", "pg"],
  settings:
    "DBOSClient: enqueueInTransaction for many, enqueue for one; a workflow without steps for each " +
    "kind; minPollingIntervalMs 10; workerConcurrency 1000, none for latency; pool 20",
  prepare: (url) => library().DBOS.migrate(url),
  async producer(url, { connections }) {
    const pool = openPool(url, connections);
    const client = await library().DBOSClient.create({
      systemDatabaseUrl: url,
      systemDatabasePool: pool,
      applicationName: application,
      logger: quiet,
    });
    return produce(client, pool);
  },
  consumer: (url, { kinds, best, run }) => consume(url, kinds, queues[best], run),
  unfinished: (url) =>
    ask(
      url,
      "select count(*) from dbos.workflow_status where status in ('ENQUEUED', 'DELAYED', 'PENDING')",
    ),
};

/** It has no call for many: one transaction holds a call for each, and is twice as fast as without. */
function produce(client: Client, pool: Pool): Producer {
  return {
    async enqueueMany(jobs) {
      const connection = await pool.connect();
      await connection.query("begin");
      for (const job of jobs) {
        await client.enqueueInTransaction(connection, optionsOf(job), { n: job.n });
      }
      await connection.query("commit");
      connection.release();
    },
    async enqueue(job) {
      await client.enqueue(optionsOf(job), { n: job.n });
    },
    async close() {
      await client.destroy();
      await pool.end();
    },
  };
}

function optionsOf({ kind, delayMs, priority }: NewJob): EnqueueOptions {
  return {
    queueName: queue,
    workflowName: kind,
    ...(delayMs !== undefined && { delaySeconds: delayMs / 1000 }),
    ...(priority !== undefined && { priority }),
  };
}

async function consume(
  url: string,
  kinds: readonly string[],
  options: object,
  run: ConsumerOptions["run"],
): Promise<Consumer> {
  const { DBOS } = library();
  DBOS.setConfig({
    name: application,
    systemDatabaseUrl: url,
    systemDatabasePoolSize: 20,
    applicationVersion: "1",
    executorID: randomUUID(), // under one name, each would run again what the other has in hand
    logger: quiet,
  });
  for (const kind of kinds) DBOS.registerWorkflow(async ({ n }) => run(n), { name: kind });
  await DBOS.launch();
  await DBOS.registerQueue(queue, { ...options, onConflict: "always_update" });
  return { stop: () => DBOS.shutdown({ workflowCompletionTimeoutMS: 60_000 }) };
}

function library(): Library {
  return load<Library>("@dbos-inc/dbos-sdk");
}

/** Tells what went wrong, and nothing of what went well. */
const quiet = {
  info: () => undefined,
  debug: () => undefined,
  warn: (message: unknown) => console.error(message),
  error: (message: unknown) => console.error(message),
};
