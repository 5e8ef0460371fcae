import type { AppDatabase } from "./database.ts";
import type { NextServer } from "./next-server.ts";
import { until } from "./until.ts";

const owner = { "x-user": "ann", "content-type": "application/json" };

/** Starts a job of the application `door` over HTTP; answers its id. Throws where it is no 202. */
export async function start(server: NextServer, kind: string): Promise<string> {
  const url = `${server.url}/api/leasehold/jobs/${kind}`;
  const answer = await fetch(url, { method: "POST", headers: owner, body: "null" });
  const body = await answer.text();
  if (answer.status !== 202) throw new Error(`${answer.status} ${body}\n${server.output()}`);
  return JSON.parse(body).id;
}

/** What the application answers about a job. */
// biome-ignore lint/suspicious/noExplicitAny: JSON.
export async function ask(server: NextServer, id: string): Promise<Record<string, any>> {
  const answer = await fetch(`${server.url}/api/leasehold/jobs/${id}`, { headers: owner });
  // biome-ignore lint/suspicious/noExplicitAny: JSON.
  return answer.json() as Promise<Record<string, any>>;
}

/** Has a job enqueued that a worker or a drain runs; answers its id. */
export async function hook(server: NextServer): Promise<string> {
  const answer = await fetch(`${server.url}/api/webhook`, { method: "POST" });
  const body = await answer.text();
  if (answer.status !== 202) throw new Error(`${answer.status} ${body}\n${server.output()}`);
  return JSON.parse(body).id;
}

/** The row of a job, once it has the status. */
export function rowIn(database: AppDatabase, id: string, status: string) {
  return until(async () => {
    const [row] = await database.query("select * from leasehold.jobs where id = $1", [id]);
    return row?.status === status ? row : undefined;
  }, `job ${id} is ${status}`);
}

/** Connections of leasehold's pools and workers. */
export async function backends(database: AppDatabase): Promise<number> {
  const [row] = await database.query(
    "select count(*)::int as count from pg_stat_activity where application_name like 'leasehold%'",
  );
  return row?.count;
}
