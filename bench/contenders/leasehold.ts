import {
  createLeasehold,
  defineJob,
  type Handled,
  handle,
  type JobDefinition,
  type Leasehold,
  silentLogger,
  type WorkOptions,
} from "leasehold";
import { pg } from "leasehold/pg";
import { migrate } from "leasehold/schema";
import type { ClientBase } from "pg";
import type { ConsumerOptions, Contender, NewJob } from "./contender.ts";
import { withClient } from "./with-client.ts";

/** Which accounts pay for the jobs, where they cost anything. */
type Holds = "none" | "one account" | "many accounts";

const workOptions: Record<ConsumerOptions["best"], WorkOptions> = {
  throughput: { concurrency: 1_000, signals: false },
  latency: { signals: false },
};

/** So many accounts pay in turn where there are many. */
const accounts = 1_000;

export const leasehold = contender("leasehold", "none");

/** Each job costs a credit, held at its enqueue and captured by its completion. */
export const leaseholdOneAccount = contender("leasehold, one account", "one account");
export const leaseholdManyAccounts = contender("leasehold, many accounts", "many accounts");

function contender(name: string, holds: Holds): Contender {
  return {
    name,
    packages: ["leasehold", "pg"],
    settings: "node-postgres, a pool of 4; throughput: concurrency 1000; latency: no options",
    async prepare(url) {
      const database = pg(url);
      await migrate(database);
      await database.close?.();
      if (holds !== "none") await withClient(url, (client) => grant(client));
    },
    async producer(url, { connections }) {
      const client = createLeasehold({
        database: pg({ connectionString: url, max: connections }),
        logger: silentLogger,
      });
      const item = items(holds);
      return {
        enqueueMany: async (jobs) => void (await client.enqueueMany(jobs.map(item))),
        async enqueue(job) {
          const { job: definition, payload, ...options } = item(job);
          await client.enqueue(definition, payload, options);
        },
        close: () => close(client),
      };
    },
    async consumer(url, { kinds, best, run }) {
      const handlers = kinds.map((kind) => handler(kind, run));
      const client = createLeasehold({ database: pg(url), handlers, logger: silentLogger });
      const worker = client.work(workOptions[best]);
      return {
        async stop() {
          await worker.stop();
          await close(client);
        },
      };
    },
    unfinished: (url) =>
      withClient(url, async (client) => {
        const text =
          "select count(*)::int as n from leasehold.jobs where status in ('queued', 'running')";
        return (await client.query(text)).rows[0].n;
      }),
    prune: (url, olderThanMs) =>
      withClient(url, async (client) => {
        const options = JSON.stringify({ older_than_ms: olderThanMs, limit: 10_000 });
        const text = "select leasehold.prune($1::jsonb) as answer";
        return (await client.query(text, [options])).rows[0].answer.deleted;
      }),
  };
}

function handler(kind: string, run: ConsumerOptions["run"]): Handled {
  return handle(defineJob(kind), (job) => run((job.payload as { n: number }).n));
}

/** Makes what `enqueueMany` takes; a kind is defined once. */
function items(holds: Holds) {
  const definitions = new Map<string, JobDefinition>();
  const definition = (kind: string): JobDefinition => {
    const known = definitions.get(kind) ?? (defineJob(kind) as unknown as JobDefinition);
    definitions.set(kind, known);
    return known;
  };
  return ({ kind, n, delayMs, priority }: NewJob) => ({
    job: definition(kind),
    payload: { n },
    ...(delayMs !== undefined && { delay: delayMs }),
    ...(priority !== undefined && { priority }),
    ...(holds !== "none" && { cost: 1, account: account(holds === "one account" ? 0 : n) }),
  });
}

function account(n: number): string {
  return `account-${n % accounts}`;
}

async function grant(client: ClientBase): Promise<void> {
  const text = `select leasehold.grant_credits('account-' || n, 1000000000, 'bench')
    from generate_series(0, ${accounts - 1}) n`;
  await client.query(text);
}

/** The client closes its database only where it opened it itself; here the pool is made from a URL. */
async function close(client: Leasehold): Promise<void> {
  await client.close();
}
