import pgDriver from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { pg } from "../../src/pg/index.ts";
import { migrate, renderSql, schemaVersion } from "../../src/schema/index.ts";
import { until } from "../drain/support/client.ts";
import { waitForLocks } from "../support/barrier.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type PgBouncer, pgBouncerBinary, startPgBouncer } from "../support/pgbouncer.ts";

/*
 * The lock of a migration belongs to its transaction: on whichever of a pool's connections, or of a
 * pooler's, it runs, it is gone with it, and nothing has to be unlocked.
 */

const ways = pgBouncerBinary === undefined ? ["a pool"] : ["a pool", "PgBouncer"];

describe.each(ways)("migrate through %s of several connections (S27)", (way) => {
  let bouncer: PgBouncer | undefined;
  let db: TestDatabase;
  let pool: pgDriver.Pool;

  beforeAll(async () => {
    if (way === "PgBouncer") bouncer = await startPgBouncer(inject("adminUrl"));
  });
  afterAll(() => bouncer?.stop());
  beforeEach(async () => {
    db = await openTestDatabase("postgres", { migrated: false });
    pool = new pgDriver.Pool({ connectionString: bouncer?.url(db.url) ?? db.url, max: 5 });
    await traffic();
  });
  afterEach(async () => {
    await pool.end();
    await db.close();
  });

  /** Five queries at once, so that every connection of the pool is open and has been used. */
  const traffic = () => Promise.all(Array.from({ length: 5 }, () => pool.query("select 1")));

  /** Of this database: pg_locks shows those of tests in others as well. */
  const advisoryLocks = () =>
    db.value(
      `select count(*) from pg_locks where locktype = 'advisory'
         and database = (select oid from pg_database where datname = current_database())`,
    );

  /** PostgreSQL tells an error before it lets go of the locks. */
  const noLockLeft = () => until(async () => (await advisoryLocks()) === 0, "no lock left");

  /** As if an older version had installed the functions. */
  const outdate = () => db.query("update leasehold.migrations set checksum = 'older'");

  test("three times, with queries beside it, leaves no lock behind", async () => {
    for (const nth of [1, 2, 3]) {
      const [{ version }] = await Promise.all([migrate(pg(pool)), traffic(), traffic()]);
      expect([nth, version, await advisoryLocks()]).toEqual([nth, schemaVersion, 0]);
      await outdate();
    }
  });

  test("that throws, or loses its connection in the middle, leaves none, and the next one finishes", async () => {
    await migrate(pg(pool));
    await outdate();
    const unknownRole = migrate(pg(pool), { roles: ["nobody_of_this_name"] });
    await expect(unknownRole).rejects.toMatchObject({ code: "LH002" });
    await noLockLeft();

    // In the middle: it has its own lock, and waits for a table.
    const gate = await db.connect();
    await gate.begin();
    await gate.query("lock table leasehold.migrations in access exclusive mode");
    const cutOff = migrateBlindly();
    await waitForLocks(await db.connect(), 1);
    expect(await advisoryLocks()).toBe(1);
    await db.query(
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'
         and database = (select oid from pg_database where datname = current_database())`,
    );
    expect(await cutOff).toBeInstanceOf(Error);
    await gate.rollback();
    await noLockLeft();

    const other = pg(db.url);
    expect(await migrate(other)).toEqual({ version: schemaVersion, changed: true });
    expect(await migrate(pg(pool))).toEqual({ version: schemaVersion, changed: false });
    await other.close?.();
    expect(await advisoryLocks()).toBe(0);
  });

  /** Runs the script without the look beforehand, which would wait at the gate; its error. */
  const migrateBlindly = () =>
    pg(pool)
      .script?.(renderSql())
      .catch((error: unknown) => error);
});
