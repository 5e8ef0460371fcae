import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { http } from "../../src/http/index.ts";
import { createLeasehold, silentLogger } from "../../src/index.ts";
import { migrate } from "../../src/schema/index.ts";
import { freePort } from "../support/postgres-server.ts";
import { tableReset } from "../support/reset.ts";
import { type SupabaseServer, startSupabase } from "../support/supabase-server.ts";
import { type Ended, makeProject } from "./binary.ts";
import type { Line } from "./docs-commands.ts";
import { type Jobs, recipeOf } from "./docs-recipes.ts";
import { type } from "./docs-typing.ts";

/** Where what the documentation shows is done: a database, an application, and projects to type in. */
export interface World {
  /** Runs a line in a new project. */
  run(line: Line): Promise<Ended>;
  close(): Promise<void>;
}

const secret = "a secret of the tests";

export async function openWorld(): Promise<World> {
  const server = await startSupabase();
  await migrate(server.database);
  // A role of an application's, which is granted the functions.
  await server.query("create role app");
  const reset = await tableReset(server, "leasehold");
  const application = await serveRoutes(server);
  const { port } = application.address() as AddressInfo;
  // Its first start takes seconds, so the embedded database stays.
  const embedded = makeProject();

  async function run(line: Line): Promise<Ended> {
    await reset();
    const surroundings = {
      databaseUrl: server.url,
      applicationUrl: `http://127.0.0.1:${port}`,
      freePort: await freePort(),
      jobs: await enqueueJobs(server),
    };
    const env = { CRON_SECRET: secret };
    if (recipeOf(line).embedded) return type(line, embedded, surroundings, env);
    const project = makeProject();
    try {
      return await type(line, project, surroundings, { ...env, DATABASE_URL: server.url });
    } finally {
      project.remove();
    }
  }

  return {
    run,
    async close() {
      embedded.remove();
      application.closeAllConnections();
      application.close();
      await server.stop();
    },
  };
}

/** The routes as an application serves them, in which nobody is signed in. */
async function serveRoutes({ database }: SupabaseServer): Promise<Server> {
  const leasehold = createLeasehold({ database, logger: silentLogger, housekeeping: false });
  const routes = http({ leasehold, jobs: [], authorize: () => null, secret });
  const application = createServer(getRequestListener(routes)).listen(0, "127.0.0.1");
  await new Promise((resolve) => application.once("listening", resolve));
  return application;
}

/** One that waits, one that failed, and one that was done and paid for. */
async function enqueueJobs({ query }: SupabaseServer): Promise<Jobs> {
  const enqueue = async (options: object): Promise<string> => {
    const text = `select leasehold.enqueue('greet', '{"name": "Ada"}', $1) ->> 'id' as id`;
    const [row] = await query(text, [options]);
    return row?.id;
  };
  await query("select leasehold.grant_credits('ann', 10, 'the first')");
  const failed = await enqueue({});
  await query("select leasehold.claim_job($1)", [failed]);
  await query(`select leasehold.fail($1, 1, '{"code": "GONE"}', true)`, [failed]);
  const completed = await enqueue({ cost: 3, account: "ann" });
  await query("select leasehold.claim_job($1)", [completed]);
  await query("select leasehold.complete($1, 1)", [completed]);
  return { failed, completed, queued: await enqueue({ delay_ms: 3_600_000 }) };
}
