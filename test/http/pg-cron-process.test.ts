import { expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { migrate, renderWakeups } from "../../src/schema/index.ts";
import { until } from "../drain/support/client.ts";
import { pgCronServer } from "../support/pg-cron-server.ts";
import { startPgNet } from "../support/pg-net.ts";
import { standIns } from "../support/supabase-stand-ins.ts";
import { routes, secret } from "./support/routes.ts";
import { serve } from "./support/server.ts";

const job = defineJob("job");

/** It looks once a minute, and this waits for it. */
test.skipIf(pgCronServer === undefined)(
  "the real pg_cron finds what nobody woke for",
  { timeout: 120_000 },
  async () => {
    const server = await pgCronServer?.();
    if (server === undefined) return;
    const app = routes(server.database, { jobs: [], handlers: [handle(job, () => 1)] });
    const http = await serve(app.handler.fetch);
    // pg_net and Vault alone: pg_cron is there.
    await server.query(standIns.slice(0, standIns.indexOf("create schema cron")));
    const net = startPgNet({ query: server.query });
    try {
      await migrate(server.database);
      await server.query(
        "insert into vault.secrets values ('leasehold_drain_url', $1), ('leasehold_drain_secret', $2)",
        [`${http.url}/api/leasehold/drain`, secret],
      );
      await app.leasehold.enqueue(job);
      await server.query(renderWakeups());
      await until(() => app.leasehold.toldOf("completed").length === 1, "the job", 90_000);
      expect(net.sent).toEqual([{ url: `${http.url}/api/leasehold/drain?linger=0s`, status: 202 }]);
      const runs = () => server.query("select status, command from cron.job_run_details");
      await until(async () => (await runs())[0]?.status === "succeeded", "the end of its run");
      const succeeded = { status: "succeeded", command: "select leasehold_wakeups.tick()" };
      expect(await runs()).toEqual((await runs()).map(() => succeeded));
    } finally {
      await net.stop();
      await http.close();
      await server.stop();
    }
  },
);
