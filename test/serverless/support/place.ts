import { test } from "vitest";
import { pg } from "../../../src/pg/index.ts";
import { openTestDatabase, type TestDatabase } from "../../support/databases.ts";
import type { Payload } from "../functions/lib/work.ts";
import { type Instance, type Invocation, Platform } from "./platform.ts";
import { runsTable } from "./runs.ts";

const secret = "a secret of more than 16 characters";

/** The scale of the platform's times: its limit of 300 s is 5 s, a budget of 240 s is 4 s. */
export const scaled = { budgetMs: 4_000, reserveMs: 500, leaseMs: 5_000, limitMs: 5_000 };

export interface PlaceOptions {
  readonly budgetMs?: number;
  readonly reserveMs?: number;
  readonly leaseMs?: number;
  readonly maxJobs?: number;
  readonly limitMs?: number;
  readonly graceMs?: number;
}

/** The platform with the functions of `../functions`, on one database. */
export interface Place {
  readonly platform: Platform;
  /** Enqueues jobs of these payloads, without any drain; answers their ids. */
  enqueue(...jobs: (Partial<Payload> & { maxAttempts?: number })[]): Promise<string[]>;
  /** Asks an instance to drain, as a cron does. */
  drain(instance: Instance, init?: RequestInit & { wait?: boolean }): Invocation;
  close(): Promise<void>;
}

/** What the tables of the tests are besides leasehold's. */
export const tables = `${runsTable};
  create table public.effects (job_id uuid not null, generation int not null)`;

/** A test on a place and a database of its own, so that it can wait while others do. */
export function testApart(
  name: string,
  options: PlaceOptions,
  run: (place: Place, db: TestDatabase) => Promise<void>,
): void {
  test.concurrent(name, async () => {
    const db = await openTestDatabase("postgres");
    db.pool.on("error", () => undefined);
    await db.query(tables);
    const place = openPlace(db.url, options);
    try {
      await run(place, db);
    } finally {
      await place.close();
      await db.close();
    }
  });
}

/** Opens it on a migrated database, in which `tables` are. */
export function openPlace(url: string, options: PlaceOptions = {}): Place {
  const { budgetMs, reserveMs, leaseMs, limitMs } = { ...scaled, ...options };
  const { maxJobs = 3, graceMs = 2_000 } = options;
  const platform = new Platform({
    app: new URL("../functions/app", import.meta.url),
    limitMs,
    graceMs,
    env: {
      DATABASE_URL: url,
      CRON_SECRET: secret,
      BUDGET_MS: String(budgetMs),
      RESERVE_MS: String(reserveMs),
      LEASE_MS: String(leaseMs),
      MAX_JOBS: String(maxJobs),
    },
  });
  const database = pg(url);
  return {
    platform,
    async enqueue(...jobs) {
      const asked = jobs.map(({ maxAttempts = 5, ...payload }) => {
        return { kind: "work", payload, max_attempts: maxAttempts };
      });
      const answers = await database.call("enqueue_many", { p_jobs: asked });
      return (answers as { id: string }[]).map(({ id }) => id);
    },
    drain(instance, { wait = true, ...init } = {}) {
      const headers = { authorization: `Bearer ${secret}` };
      return instance.invoke(`/api/leasehold/drain${wait ? "?wait=1" : ""}`, { ...init, headers });
    },
    async close() {
      await platform.close();
      await database.close?.();
    },
  };
}
