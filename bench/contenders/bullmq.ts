import type { Consumer, ConsumerOptions, NewJob, Producer } from "./contender.ts";
import { load } from "./rivals/load.ts";

/** What is used of BullMQ 6. */
export interface BullMq {
  readonly Queue: new (name: string, options: object, backend?: Backend) => Queue;
  readonly Worker: new (
    name: string,
    handler: (job: { readonly data: { readonly n: number } }) => Promise<void>,
    options: object,
    backend?: Backend,
  ) => Worker;
  readonly createPostgresBackend: Backend;
  runMigrations(client: object): Promise<void>;
}

export type Backend = object;

interface Queue {
  addBulk(jobs: readonly Named[]): Promise<unknown>;
  add(name: string, data: object, options: JobOptions): Promise<unknown>;
  getJobCounts(...states: string[]): Promise<Record<string, number>>;
  clean(olderThanMs: number, limit: number, state: string): Promise<readonly string[]>;
  on(event: "error", listener: (error: Error) => void): void;
  close(): Promise<void>;
}

interface Worker {
  waitUntilReady(): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): void;
  close(): Promise<void>;
}

interface Named {
  readonly name: string;
  readonly data: object;
  readonly opts: JobOptions;
}

interface JobOptions {
  readonly delay?: number;
  /** From 1, lower first; those without come before all others. */
  readonly priority?: number;
}

/** Where its queue is. */
export interface Place {
  readonly connection: object;
  readonly backend?: Backend;
}

/** One queue, in which a kind is a job's name: a worker for each of 100 queues has no use here. */
const name = "bench";

export function produce({ connection, backend }: Place): Producer {
  const queue = openQueue({ connection, ...(backend && { backend }) });
  return {
    async enqueueMany(jobs) {
      await queue.addBulk(
        jobs.map((job) => ({ name: job.kind, data: { n: job.n }, opts: optionsOf(job) })),
      );
    },
    async enqueue(job) {
      await queue.add(job.kind, { n: job.n }, optionsOf(job));
    },
    close: () => queue.close(),
  };
}

function optionsOf({ delayMs, priority }: NewJob): JobOptions {
  return {
    ...(delayMs !== undefined && { delay: delayMs }),
    ...(priority !== undefined && { priority }),
  };
}

export async function consume(
  { connection, backend }: Place,
  options: object,
  run: ConsumerOptions["run"],
): Promise<Consumer> {
  const { Worker } = load<BullMq>("bullmq");
  const worker = new Worker(
    name,
    async ({ data }) => run(data.n),
    { connection, ...options },
    backend,
  );
  worker.on("error", (error) => console.error(error));
  await worker.waitUntilReady();
  return { stop: () => worker.close() };
}

/** Those that are not finished. */
export async function count(place: Place): Promise<number> {
  const queue = openQueue(place);
  const states = ["waiting", "active", "delayed", "prioritized", "paused", "waiting-children"];
  const counts = await queue.getJobCounts(...states);
  await queue.close();
  return Object.values(counts).reduce((sum, each) => sum + each, 0);
}

/** Removes some of those that finished so long ago; without that it keeps them. */
export async function prune(place: Place, olderThanMs: number): Promise<number> {
  const queue = openQueue(place);
  const removed = await queue.clean(olderThanMs, 10_000, "completed");
  await queue.close();
  return removed.length;
}

function openQueue({ connection, backend }: Place): Queue {
  const queue = new (load<BullMq>("bullmq").Queue)(name, { connection }, backend);
  queue.on("error", (error) => console.error(error));
  return queue;
}
