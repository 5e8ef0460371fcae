import { createServer, type Server as HttpServer, request as httpRequest } from "node:http";
import { serve } from "@hono/node-server";
import pg from "pg";
import { type DashboardRole, dashboard } from "../../../dist/dashboard/index.js";
import { createLeasehold, silentLogger } from "../../../dist/index.js";
import { pg as pgDatabase } from "../../../dist/pg/index.js";
import { migrate } from "../../../dist/schema/index.js";
import { freePort } from "../../support/postgres-server.ts";
import { restartableServer } from "../../worker/support/restartable.ts";

/** The dashboard as an application serves it, behind a proxy that gives it another path. */
export interface Served {
  /** Where browsers find it, for a role. */
  url(role: DashboardRole): string;
  // biome-ignore lint/suspicious/noExplicitAny: rows of any query.
  query(sql: string, values?: readonly unknown[]): Promise<Record<string, any>[]>;
  /** How many requests have come, page and questions. */
  requests(): number;
  /** Ends the database as a crash does, and starts it again. */
  crash(): Promise<void>;
  startAgain(): Promise<void>;
  stop(): Promise<void>;
}

export async function serveDashboard(): Promise<Served> {
  const server = await restartableServer();
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  pool.on("error", () => undefined); // a crash breaks those that rest
  const leasehold = createLeasehold({ database: pgDatabase(server.url), logger: silentLogger });
  await migrate(leasehold.database);
  const pages = Object.fromEntries(
    (["admin", "read"] as const).map((role) => [
      `/internal/${role}`,
      dashboard({ leasehold, authorize: () => ({ role, name: "ann" }), redact: ["password"] }),
    ]),
  );
  let requests = 0;
  const port = await freePort();
  const application = serve({
    port,
    hostname: "127.0.0.1",
    fetch(request) {
      requests += 1;
      const page = pages[new URL(request.url).pathname];
      return page?.(request) ?? new Response("There is nothing here.", { status: 404 });
    },
  });
  const proxyPort = await freePort();
  const proxy = await startProxy(proxyPort, port);
  return {
    url: (role) => `http://127.0.0.1:${proxyPort}/ops/queue%20of%20mail/${role}`,
    query: async (sql, values) => (await pool.query(sql, values as unknown[])).rows,
    requests: () => requests,
    crash: () => server.crash(),
    startAgain: () => server.startAgain(),
    async stop() {
      await leasehold.close();
      await pool.end();
      await new Promise((resolve) => proxy.close(resolve).closeAllConnections());
      await new Promise((resolve) =>
        (application as HttpServer).close(resolve).closeAllConnections(),
      );
      await server.stop();
    },
  };
}

/** Hands requests on under another path; the Host stays, as proxies are told to leave it. */
function startProxy(port: number, to: number): Promise<HttpServer> {
  const proxy = createServer((request, response) => {
    const path = request.url?.replace("/ops/queue%20of%20mail/", "/internal/") ?? "/";
    const { method, headers } = request;
    const onward = httpRequest({ host: "127.0.0.1", port: to, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.writeHead(502).end());
    request.pipe(onward);
  });
  return new Promise((resolve) => proxy.listen(port, "127.0.0.1", () => resolve(proxy)));
}

/** Text that would run, or break a link, wherever it is not treated as text. */
export const hostile = {
  kind: `mail/send?x=1#y "q" 'z' 🎉 <script>boom()</script>`,
  key: `ключ/?#&=%41 "q" <img src=x onerror=boom()>`,
  owner: "<b onmouseover=boom()>bob</b>",
  account: `</script><script>boom()</script>/?#🎉`,
  payload: { "<i>name</i>": "</script><script>boom()</script>", password: "s3cret" },
  trace: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
  error: "<img src=x onerror=boom()> the provider says no",
};

/** Jobs of every status and kind of money, workers, alerts and a drain; 30 failed ones of kind "report". */
export async function seed({ query }: Pick<Served, "query">): Promise<void> {
  await query(
    `do $$
    declare
      h jsonb := ${literal(JSON.stringify(hostile))};
      c record;
      v uuid;
    begin
      truncate leasehold.jobs, leasehold.job_events, leasehold.steps, leasehold.once, leasehold.holds,
        leasehold.accounts, leasehold.entries, leasehold.alerts, leasehold.kinds, leasehold.workers, leasehold.drains;
      perform leasehold.grant_credits(h ->> 'account', 100, 'a "reference" <b>');
      perform leasehold.grant_credits('ann', 10, 'first');
      for i in 1..30 loop
        v := leasehold.enqueue('report', jsonb_build_object('n', i), jsonb_build_object('key', 'report ' || i)) ->> 'id';
        perform leasehold.claim_job(v, 60000, 'worker-1');
        perform leasehold.fail(v, 1, jsonb_build_object('code', 'HTTP_503', 'message', h ->> 'error'), true);
      end loop;
      v := leasehold.enqueue(h ->> 'kind', h -> 'payload', jsonb_build_object('key', h ->> 'key', 'owner', h ->> 'owner',
        'cost', 3, 'account', h ->> 'account', 'trace_context', h -> 'trace')) ->> 'id';
      perform leasehold.claim_job(v, 60000, h ->> 'kind');
      perform leasehold.step_save(v, 1, h ->> 'key', '1');
      perform leasehold.fail(v, 1, jsonb_build_object('code', 'E', 'message', h ->> 'error'), false, 0);
      perform leasehold.claim_job(v, 60000, 'worker-2');
      perform leasehold.complete(v, 1);
      perform leasehold.complete(v, 2, h -> 'payload');
      v := leasehold.enqueue('paid', '{}', '{"external": true}') ->> 'id';
      perform leasehold.cancel(v);
      v := leasehold.enqueue('hourly', '{}', '{"cost": 2, "account": "ann", "delay_ms": 3600000}') ->> 'id';
      v := leasehold.enqueue('import', '[1, [2, {"deep": [true, null]}]]', '{}') ->> 'id';
      perform leasehold.claim_job(v, 600000, 'worker-1');
      perform leasehold.extend(v, 1, 600000, '{"percent": 40}');
      v := leasehold.enqueue('orphan', '{}', '{}') ->> 'id';
      perform leasehold.claim_job(v, 1000, 'gone');
      update leasehold.jobs set lease_until = now() - interval '1 minute', timeout_at = now() + interval '1 hour' where id = v;
      perform leasehold.worker_beat(gen_random_uuid(), jsonb_build_object('name', 'worker-1',
        'kinds', jsonb_build_array('import', 'report', h ->> 'kind'), 'concurrency', 10, 'idle', false));
      perform leasehold.note_drain('cron', '{"processed": 3, "reason": "empty"}');
      insert into leasehold.alerts (at, severity, code, job_id, message, detail) values
        (now(), 'critical', 'MONEY_UNKNOWN', v, h ->> 'error', jsonb_build_object('account', h ->> 'account')),
        (now(), 'warning', 'RELEASED_TEN_TIMES', null, 'ten releases in a row', '{}');
    end $$`,
  );
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
