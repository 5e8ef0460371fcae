import pgDriver from "pg";
import postgresJs from "postgres";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createLeasehold, defineJob, handle, type Logger } from "../../src/index.ts";
import { pg } from "../../src/pg/index.ts";
import { postgres } from "../../src/postgres/index.ts";
import { migrate } from "../../src/schema/index.ts";
import { until } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type PgBouncer, pgBouncerBinary, startPgBouncer } from "../support/pgbouncer.ts";
import { conformance } from "./conformance.ts";

// Where none is installed there is still the double of transaction-pooler.ts.
const installed = pgBouncerBinary !== undefined;

let bouncer: PgBouncer;

beforeAll(async () => {
  if (installed) bouncer = await startPgBouncer(inject("adminUrl"));
});
afterAll(() => bouncer?.stop());

if (installed) {
  conformance("pg through PgBouncer", async () => {
    const db = await openTestDatabase("postgres");
    const pool = new pgDriver.Pool({ connectionString: bouncer.url(db.url), max: 10 });
    return {
      database: (schema) => pg(pool, { schema }),
      close: () => pool.end().then(db.close),
    };
  });

  conformance("postgres.js through PgBouncer", async () => {
    const db = await openTestDatabase("postgres");
    const sql = postgresJs(bouncer.url(db.url), { max: 10, onnotice: () => undefined });
    return {
      database: (schema) => postgres(sql, { schema }),
      close: () => sql.end().then(db.close),
    };
  });
}

describe.runIf(installed)("through PgBouncer in transaction mode (S28)", () => {
  const mail = defineJob("mail");
  let db: TestDatabase;
  let pool: pgDriver.Pool;

  beforeAll(async () => {
    db = await openTestDatabase("postgres", { migrated: false });
    pool = new pgDriver.Pool({ connectionString: bouncer.url(db.url), max: 10 });
    await migrate(pg(pool));
  });
  afterAll(async () => {
    await pool.end();
    await db.close();
  });

  /** A client that keeps its warnings. */
  function client(database = pg(pool)) {
    const warnings: string[] = [];
    const log: Logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: (_, message) => warnings.push(String(message)),
      error: () => undefined,
    };
    const handled: unknown[] = [];
    const handlers = [
      handle(mail, (job) => {
        handled.push(job.payload);
      }),
    ];
    return { handled, warnings, leasehold: createLeasehold({ database, handlers, logger: log }) };
  }

  it("jobs are enqueued side by side, and drained", async () => {
    const { handled, leasehold } = client();
    await Promise.all(Array.from({ length: 10 }, (_, n) => leasehold.enqueue(mail, n)));
    expect(await leasehold.drain({ maxJobs: 20 })).toMatchObject({ completed: 10 });
    expect(handled).toHaveLength(10);
  });

  it("a worker polls without being told to, and says that nothing arrives", async () => {
    const { handled, warnings, leasehold } = client();
    const worker = leasehold.work({ poll: "200ms", concurrency: 5 });
    await until(() => warnings.length > 0, "a warning");
    expect(warnings).toEqual([expect.stringContaining("notifications do not arrive")]);
    await leasehold.enqueueMany(
      Array.from({ length: 50 }, (_, payload) => ({ job: mail, payload })),
    );
    await until(() => handled.length === 50, "all jobs ran");
    expect(worker.health()).toMatchObject({ listening: false, ready: true });
    expect(await worker.stop()).toMatchObject({ completed: 50, lost: 0 });
    expect(new Set(handled).size).toBe(50);
  });

  it("a worker with a direct URL for its one listening connection hears of jobs", async () => {
    const { handled, warnings, leasehold } = client(pg(pool, { listen: db.url }));
    const worker = leasehold.work({ poll: "1h" });
    await until(() => worker.health().listening, "it listens");
    await leasehold.enqueue(mail, "heard");
    await until(() => handled.includes("heard"), "the job ran");
    await worker.stop();
    expect(warnings).toEqual([]);
  });
});
