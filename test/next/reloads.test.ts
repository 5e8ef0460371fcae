import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { Database } from "../../src/database.ts";
import type { Leasehold } from "../../src/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

/*
 * Without leasehold/next: a server that reloads a module evaluates it again and again, each time with
 * modules of its own, and never closes what the evaluation before had opened.
 */

let db: TestDatabase;
const open: Leasehold[] = [];

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => db.close());

/** Evaluates the package anew and makes the client of a module, over the database that `make` gives. */
async function evaluate(make: () => Promise<Database | undefined>) {
  vi.resetModules();
  const { createLeasehold, defineJob } = await import("../../src/index.ts");
  const database = await make();
  const leasehold = createLeasehold({
    housekeeping: false,
    ...(database !== undefined && { database }),
  });
  open.push(leasehold);
  return leasehold.enqueue(defineJob("job"));
}

const named = (name: string) => {
  const url = new URL(db.url);
  url.searchParams.set("application_name", name);
  return url.href;
};

const ways: Record<string, (url: string) => Promise<Database | undefined>> = {
  "pg(url)": async (url) => (await import("../../src/pg/index.ts")).pg(url),
  "postgres(url)": async (url) => (await import("../../src/postgres/index.ts")).postgres(url),
  "nothing but DATABASE_URL": async (url) => {
    vi.stubEnv("DATABASE_URL", url);
    return undefined;
  },
};

test.each(Object.entries(ways))(
  "twenty evaluations with %s have one pool, of four connections at most (S34)",
  async (name, make) => {
    for (let i = 0; i < 20; i += 1) {
      // Four at once, or no pool would need more than one connection.
      const calls = Array.from({ length: 4 }, () => evaluate(() => make(named(name))));
      for (const { outcome } of await Promise.all(calls)) expect(outcome).toBe("created");
    }
    const backends = await db.value(
      "select count(*)::int from pg_stat_activity where application_name = $1",
      [name],
    );
    expect(backends).toBeGreaterThan(0);
    expect(backends).toBeLessThanOrEqual(4);
  },
);
