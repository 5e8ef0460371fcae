import { Client, Pool } from "pg";
import type { ConsumerOptions, Contender, NewJob } from "./contender.ts";
import { withClient } from "./with-client.ts";

/** Jobs a claim. */
const batch = 500;

const onlyNumbers = "its row has a kind, a number and a status, and nothing else";

/**
 * What PostgreSQL could do at most: a row of four columns, no attempts, no fence, no lease, no retry.
 * Two connections each claim 500 rows, run them and finish them by their ids, one after the other.
 */
export const bareSql: Contender = {
  name: "bare SQL",
  packages: ["pg"],
  settings: `two connections, each claims and finishes ${batch} rows a statement; no fence, no lease, no retry`,
  cannot: {
    latency: "it has no notifications",
    delayed: onlyNumbers,
    priorities: onlyNumbers,
    kinds: "it has one statement for all kinds",
    idle: "it has no poll interval",
    sustained: "it never deletes",
  },
  prepare: (url) =>
    withClient(url, async (client) => {
      await client.query(`
        create table jobs (
          id bigint generated always as identity primary key,
          kind text not null,
          payload jsonb not null,
          status smallint not null default 0
        );
        create index jobs_claim on jobs (id) where status = 0;`);
    }),
  async producer(url, { connections }) {
    const pool = new Pool({ connectionString: url, max: connections });
    const insert = async (jobs: readonly NewJob[]): Promise<void> => {
      await pool.query(
        "insert into jobs (kind, payload) select * from unnest($1::text[], $2::jsonb[])",
        [jobs.map(({ kind }) => kind), jobs.map(({ n }) => JSON.stringify({ n }))],
      );
    };
    return { enqueueMany: insert, enqueue: (job) => insert([job]), close: () => pool.end() };
  },
  async consumer(url, { run }) {
    const clients = [new Client(url), new Client(url)];
    await Promise.all(clients.map((client) => client.connect()));
    const state = { stopped: false };
    const loops = clients.map((client) => consume(client, run, state));
    return {
      async stop() {
        state.stopped = true;
        await Promise.all(loops);
        await Promise.all(clients.map((client) => client.end()));
      },
    };
  },
  unfinished: (url) =>
    withClient(url, async (client) => {
      return (await client.query("select count(*)::int as n from jobs where status < 2")).rows[0].n;
    }),
};

/** Each statement finishes the batch before and claims the next. */
async function consume(
  client: Client,
  run: ConsumerOptions["run"],
  state: { readonly stopped: boolean },
): Promise<void> {
  let ids: string[] = [];
  while (!state.stopped || ids.length > 0) {
    const rows = await finishAndClaim(client, ids, state.stopped ? 0 : batch);
    await Promise.all(rows.map(({ payload }) => run(payload.n)));
    ids = rows.map(({ id }) => id);
    if (ids.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const nextText = `
  with finished as (
    update jobs set status = 2 where id = any ($1::bigint[]) and status + 0 = 1
  )
  update jobs set status = 1
  where id = any (array(
    select id from jobs where status = 0 order by id limit $2 for update skip locked))
  returning id, payload`;

/**
 * Of two that claim at the head of the queue at once, PostgreSQL may take one for waiting in a circle:
 * SKIP LOCKED does wait where a row is updated again just as its lock is taken. That one tries again.
 */
async function finishAndClaim(client: Client, ids: readonly string[], limit: number) {
  for (;;) {
    try {
      return (await client.query({ name: "next", text: nextText, values: [ids, limit] })).rows;
    } catch (error) {
      if ((error as { code?: unknown }).code !== "40P01") throw error;
    }
  }
}
