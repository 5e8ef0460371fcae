/**
 * What a queue must bring to be measured. The harness calls it in child processes: one that produces,
 * one or two that consume, so that nobody's event loop is shared. A job is a number, from 0 up, in its
 * payload as `{n}`: each benchmark checks by it that nothing was lost or run twice.
 *
 * What it prints on stderr is shown only when its process crashes. Where a Redis is installed, the
 * harness runs one and names it in the environment as REDIS_URL; `prepare` empties it.
 */
export interface Contender {
  /** As the tables name it. */
  readonly name: string;
  /** Packages whose installed versions the results name. */
  readonly packages: readonly string[];
  /** What it was set to, in words, for the results. */
  readonly settings: string;
  /**
   * What it can't do, by the benchmark's name (enqueue, drain, latency, backlog, delayed, priorities,
   * kinds, xmin, sustained, idle): left out there, the reason is printed.
   */
  readonly cannot?: Readonly<Record<string, string>>;
  /** Makes its tables for these kinds in an empty database. */
  prepare(url: string, kinds: readonly string[]): Promise<void>;
  producer(url: string, options: ProducerOptions): Promise<Producer>;
  consumer(url: string, options: ConsumerOptions): Promise<Consumer>;
  /** Jobs that are in the queue and not finished, whatever state they are in. */
  unfinished(url: string): Promise<number>;
  /**
   * For a queue that keeps finished jobs: deletes some of those that finished so long ago, as its
   * users would from a cron, and answers how many. Called again at once where it deleted any.
   */
  prune?(url: string, olderThanMs: number): Promise<number>;
}

export interface ProducerOptions {
  /** Connections that it may have. */
  readonly connections: number;
}

export interface Producer {
  /** All of them in one call, in the fastest way that the queue documents. */
  enqueueMany(jobs: readonly NewJob[]): Promise<void>;
  /** One job in a call and a commit of its own. */
  enqueue(job: NewJob): Promise<void>;
  close(): Promise<void>;
}

export interface NewJob {
  readonly kind: string;
  readonly n: number;
  readonly delayMs?: number;
  /** 0 to 9, lower first, whatever the queue makes of it. */
  readonly priority?: number;
}

export interface ConsumerOptions {
  readonly kinds: readonly string[];
  /** Settings for the highest throughput, or for the shortest way from enqueue to start. */
  readonly best: "throughput" | "latency";
  /** What the handler of each job calls first, and waits for where it answers a promise. */
  run(n: number): void | Promise<void>;
}

export interface Consumer {
  /** Takes no more jobs, and resolves when what it has in hand is finished and recorded. */
  stop(): Promise<void>;
}
