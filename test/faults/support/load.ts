import nodePostgres from "pg";
import { createLeasehold, handle } from "../../../src/index.ts";
import { silentLogger } from "../../../src/logger.ts";
import { pg } from "../../../src/pg/index.ts";
import { until } from "../../drain/support/client.ts";
import { write, writeEffect } from "./effects.ts";

/** A producer's name for a job, and the id that its enqueue was answered. */
export type Acknowledged = Map<string, string>;

/** What asks for jobs, and what drains some of them. */
export interface Load {
  /** Each enqueue that was answered. */
  readonly acknowledged: Acknowledged;
  /** Enqueues that were not answered, and were tried again under the same name. */
  readonly tries: number;
  /** Ends the producers when each has the answer to its last enqueue, and then the drains. */
  stop(): Promise<void>;
}

/**
 * Producers that enqueue one job after the other, each under a name, until it is acknowledged; and
 * drains that follow each other as a cron's do.
 */
export function startLoad(url: string, producers: number): Load {
  const pool = new nodePostgres.Pool({
    connectionString: url,
    max: producers + 2,
    connectionTimeoutMillis: 2_000,
    query_timeout: 5_000,
  });
  pool.on("error", () => undefined);
  const leasehold = createLeasehold({
    database: pg(pool),
    logger: silentLogger,
    handlers: [
      handle(write, (job) =>
        job.transaction((client: nodePostgres.PoolClient) => writeEffect(client, job)),
      ),
    ],
  });
  const acknowledged: Acknowledged = new Map();
  let tries = 0;
  let enough = false;
  let over = false;

  async function produce(producer: number): Promise<void> {
    for (let i = 0; !enough; i += 1) {
      const name = `${producer}-${i}`;
      acknowledged.set(name, await enqueue(name, accountOf(producer)));
      await pause();
    }
  }
  async function enqueue(once: string, account: string): Promise<string> {
    for (;;) {
      const options = { once, cost: 1, account };
      const answer = await leasehold.enqueue(write, {}, options).catch(() => undefined);
      if (answer?.outcome === "created" || answer?.outcome === "duplicate") return answer.id;
      if (answer !== undefined) throw new Error(`It was refused: ${JSON.stringify(answer)}`);
      tries += 1;
      await pause();
    }
  }
  async function drainOn(): Promise<void> {
    while (!over) {
      await leasehold.drain({ budget: "2s", reserve: 200 }).catch(() => undefined);
      await pause();
    }
  }

  const produced = settled(Promise.all(Array.from({ length: producers }, (_, i) => produce(i))));
  const drained = settled(drainOn());
  return {
    acknowledged,
    get tries() {
      return tries;
    },
    async stop() {
      enough = true;
      await until(() => produced.yet, "the answers to all enqueues", 40_000);
      over = true;
      await until(() => drained.yet, "the end of the last drain", 40_000);
      await leasehold.close();
      await pool.end();
      await produced.promise;
    },
  };
}

/** A promise, and whether it has settled yet: what never does is to be named, not waited for. */
function settled(promise: Promise<unknown>): { readonly promise: typeof promise; yet: boolean } {
  const state = { promise, yet: false };
  const settle = (): void => {
    state.yet = true;
  };
  promise.then(settle, settle);
  return state;
}

/** Who pays for the jobs of a producer. */
export const accountOf = (producer: number): string => `account ${producer}`;

/** Between two enqueues or drains, so that the work does not outgrow the workers. */
function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
