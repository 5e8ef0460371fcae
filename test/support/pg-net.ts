import type { Queryable } from "./queryable.ts";

/** What pg_net does beside the database: it sends what stands in its queue, once it is committed. */
export interface PgNet {
  /** What was sent, and the status that came back; 0 where nothing did. */
  readonly sent: { url: string; status: number }[];
  stop(): Promise<void>;
}

const lookMs = 50;

/** Sends the requests of `standIns`, to wherever they say. */
export function startPgNet({ query }: Pick<Queryable, "query">): PgNet {
  const sent: PgNet["sent"] = [];
  let stopped = false;
  const take = `delete from net.http_request_queue q where q.id in (
    select id from net.http_request_queue order by id limit 20 for update skip locked) returning *`;
  const running = (async () => {
    while (!stopped) {
      const requests = await query(take);
      await Promise.all(
        requests.map(async ({ method, url, headers, body, timeout_milliseconds }) => {
          const signal = AbortSignal.timeout(timeout_milliseconds);
          const status = await fetch(url, { method, headers, body: JSON.stringify(body), signal })
            .then((answer) => answer.status)
            .catch(() => 0);
          sent.push({ url, status });
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, lookMs));
    }
  })();
  return {
    sent,
    async stop() {
      stopped = true;
      await running;
    },
  };
}
