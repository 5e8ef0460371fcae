import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { migrate, renderWakeups } from "../../src/schema/index.ts";
import { waitForLock } from "../support/barrier.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { pgCronServer } from "../support/pg-cron-server.ts";
import { noStandIns, standIns } from "../support/supabase-stand-ins.ts";

const url = "https://app.example/api/leasehold/drain";
const secret = "a secret of the cron's";

describe.each(backends)("wake-ups from the database on %s", (backend) => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(async () => {
    await db.query(noStandIns);
    await db.reset();
  });
  afterAll(() => db.close());

  const install = async (options = {}) => {
    await db.query(standIns);
    await db.query("insert into vault.secrets values ('leasehold_drain_url', $1)", [url]);
    await db.query("insert into vault.secrets values ('leasehold_drain_secret', $1)", [secret]);
    await db.query(renderWakeups(options));
  };
  const enqueue = (options = {}) =>
    db.query("select leasehold.enqueue('k', '{}', $1)", [JSON.stringify(options)]);
  const requests = () => db.query("select * from net.http_request_queue order by id");
  /** As long after the last wake-up as it takes for another. */
  const later = () => db.query("update leasehold.ticks set last_at = last_at - interval '1 s'");

  test("are harmless where nothing of Supabase's is there, and may be installed again", async () => {
    for (let i = 0; i < 2; i += 1) await db.query(renderWakeups());
    await enqueue();
    expect(await db.value("select leasehold_wakeups.tick()")).toBeNull();
    expect(await db.value("select leasehold_wakeups.call()")).toBeNull();
    await db.query("create schema net; create schema vault");
    await later();
    await enqueue();
    expect(await db.value("select count(*)::int from leasehold.jobs")).toBe(2);
  });

  test.each(["net", "vault"])("answer null where %s alone is missing", async (schema) => {
    await install();
    await enqueue();
    await db.query(`drop schema ${schema} cascade`);
    expect(await db.value("select leasehold_wakeups.call()")).toBeNull();
    expect(await db.value("select leasehold_wakeups.tick()")).toBeNull();
  });

  test("an enqueue calls the route with the secret, long enough, to linger for a burst", async () => {
    await install({ timeoutMs: 61_000 });
    await later();
    await enqueue();
    expect(await requests()).toMatchObject([
      {
        url: `${url}?linger=2s`,
        headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
        timeout_milliseconds: 61_000,
      },
    ]);
    expect(await db.value("select leasehold_wakeups.tick()")).not.toBeNull();
    expect((await requests())[1]).toMatchObject({ url: `${url}?linger=0s` });
  });

  test("the first enqueue after the installation calls already", async () => {
    await install();
    await enqueue();
    expect(await requests()).toHaveLength(1);
  });

  test("a thousand enqueues in a second make one call; the next second another", async () => {
    await install();
    await later();
    for (let i = 0; i < 1_000; i += 100) {
      await Promise.all(Array.from({ length: 50 }, () => enqueue()));
      const jobs = JSON.stringify(Array.from({ length: 50 }, () => ({ kind: "k" })));
      await db.query("select leasehold.enqueue_many($1)", [jobs]);
      // However long this machine took for them, they are of one second.
      await db.query("update leasehold.ticks set last_at = clock_timestamp() + interval '1 hour'");
    }
    await db.query("update leasehold.ticks set last_at = clock_timestamp()");
    expect(await db.value("select count(*)::int from leasehold.jobs")).toBe(1_000);
    expect(await requests()).toHaveLength(1);
    await later();
    await enqueue();
    expect(await requests()).toHaveLength(2);
  });

  test("only what is due wakes anybody", async () => {
    await install();
    await later();
    await enqueue({ delay_ms: 60_000 });
    expect(await requests()).toEqual([]);
    await enqueue({ key: "a" });
    expect(await requests()).toHaveLength(1);
    await later();
    // A conflict inserts nothing, so there is nothing to wake for.
    await enqueue({ key: "a" });
    expect(await requests()).toHaveLength(1);
    await db.query("select leasehold.pause('k'); select leasehold.reap()");
    expect(await db.value("select leasehold_wakeups.tick()")).toBeNull();
    await db.query("select leasehold.resume('k')");
    expect(await db.value("select leasehold_wakeups.tick()")).not.toBeNull();
  });

  test("without one of the two secrets nothing is called", async () => {
    await install();
    for (const name of ["leasehold_drain_url", "leasehold_drain_secret"]) {
      await later();
      await db.query("begin");
      await db.query("delete from vault.secrets where name = $1", [name]);
      await enqueue();
      expect(await db.value("select leasehold_wakeups.tick()")).toBeNull();
      await db.query("rollback");
    }
    expect(await requests()).toEqual([]);
  });

  test("a call that fails is no matter of who enqueues", async () => {
    await install();
    await db.query("drop table net.http_request_queue");
    await later();
    await enqueue();
    await later();
    await db.query("drop view vault.decrypted_secrets cascade");
    await enqueue();
    expect(await db.value("select count(*)::int from leasehold.jobs")).toBe(2);
  });

  test("pg_cron looks each minute, or as often as it is told, and purges its own history", async () => {
    await install();
    await db.query(renderWakeups({ schedule: "10 seconds" }));
    const jobs = () => db.query("select jobname, schedule, command from cron.job order by 1");
    expect(await jobs()).toEqual([
      {
        jobname: "leasehold_drain",
        schedule: "10 seconds",
        command: "select leasehold_wakeups.tick()",
      },
      {
        jobname: "leasehold_purge",
        schedule: "17 3 * * *",
        command: "select leasehold_wakeups.purge()",
      },
    ]);
    await db.query(
      `select cron.schedule('another', '* * * * *', 'select 1');
       insert into cron.job_run_details select jobid, day, now() - day * interval '1 day' + interval '1 h'
         from cron.job, generate_series(0, 9) day;
       insert into cron.job_run_details select jobid, 10, null from cron.job`,
    );
    expect(await db.value("select leasehold_wakeups.purge()")).toBe(4);
    const kept = await db.query(
      `select jobname, count(*)::int as count from cron.job_run_details join cron.job using (jobid)
       group by 1 order by 1`,
    );
    // Those of a week ago and less, one that runs still, and all of another's.
    expect(kept).toEqual([
      { jobname: "another", count: 11 },
      { jobname: "leasehold_drain", count: 9 },
      { jobname: "leasehold_purge", count: 9 },
    ]);
  });

  test("outlast an upgrade of leasehold, and go with their schema", async () => {
    await install();
    await db.query("update leasehold.migrations set checksum = 'older'");
    await migrate(db.database);
    await later();
    await enqueue();
    expect(await requests()).toHaveLength(1);
    await db.query("drop schema leasehold_wakeups cascade");
    await later();
    await enqueue();
    expect(await requests()).toHaveLength(1);
  });

  describe.runIf(backend === "postgres")("beside each other", () => {
    test("no enqueue waits for another whose transaction is open", async () => {
      await install();
      await later();
      const [a, b] = [await db.connect(), await db.connect()];
      await a.begin();
      await a.query("select leasehold.enqueue('k')");
      // Were it to wait, this would never end: the other is committed afterwards.
      await b.query("select leasehold.enqueue('k')");
      expect(await requests()).toEqual([]);
      await a.commit();
      expect(await requests()).toHaveLength(1);
    });

    test("nor does one that is rolled back leave a call behind, or keep others from theirs", async () => {
      await install();
      await later();
      const a = await db.connect();
      await a.begin();
      await a.query("select leasehold.enqueue('k')");
      await a.rollback();
      expect(await requests()).toEqual([]);
      await enqueue();
      expect(await requests()).toHaveLength(1);
    });

    test("one in a transaction of repeatable read does not fail for another's call", async () => {
      await install();
      await later();
      const a = await db.connect();
      await a.query("begin isolation level repeatable read");
      await a.query("select 1 from leasehold.jobs");
      await enqueue();
      // By its snapshot a second has passed, and yet the row has changed.
      await a.query("select leasehold.enqueue('k')");
      await a.commit();
      expect(await db.value("select count(*)::int from leasehold.jobs")).toBe(2);
      expect(await requests()).toHaveLength(1);
    });

    test("a storm of enqueues from many connections makes one call", async () => {
      await install();
      await later();
      await db.query("update leasehold.ticks set last_at = last_at - interval '1 h'");
      // So that its second is not over before the storm is.
      const sessions = await Promise.all(Array.from({ length: 20 }, () => db.connect()));
      const holder = await db.connect();
      await holder.begin();
      await holder.query("lock table leasehold.jobs in share mode");
      const storm = sessions.map((session) => session.query("select leasehold.enqueue('k')"));
      await Promise.all(sessions.map((session) => waitForLock(db, session.pid)));
      await holder.commit();
      await Promise.all(storm);
      expect(await requests()).toHaveLength(1);
    });
  });
});

test.each(['My "Jobs" $$ x', "it's {{schema}}\nand more", "Leasehold"])(
  "wake-ups fit a schema of any name: %j",
  async (schema) => {
    const own = await openTestDatabase("postgres", { schema });
    try {
      await own.query(standIns);
      const secrets = [`${schema}_drain_url`, url, `${schema}_drain_secret`, secret];
      await own.query("insert into vault.secrets values ($1, $2), ($3, $4)", secrets);
      for (let i = 0; i < 2; i += 1) await own.query(renderWakeups({ schema }));
      await own.query(`update ${own.quotedSchema}.ticks set last_at = last_at - interval '1 s';`);
      await own.query(`select ${own.quotedSchema}.enqueue('k')`);
      expect(await own.query("select url from net.http_request_queue")).toHaveLength(1);
      const command = "select command from cron.job where jobname = $1";
      for (const what of ["drain", "purge"]) {
        await own.query(await own.value(command, [`${schema}_${what}`]));
      }
      expect(await own.query("select url from net.http_request_queue")).toHaveLength(2);
    } finally {
      await own.close();
    }
  },
);

test.skipIf(pgCronServer === undefined)(
  "the real pg_cron takes both jobs, and its history is purged",
  async () => {
    const server = await pgCronServer?.();
    if (server === undefined) return;
    try {
      await migrate(server.database);
      const notices = await server.notices(renderWakeups());
      expect(notices).toEqual([]);
      const jobs = await server.query("select jobname, schedule, active from cron.job order by 1");
      expect(jobs).toEqual([
        { jobname: "leasehold_drain", schedule: "* * * * *", active: true },
        { jobname: "leasehold_purge", schedule: "17 3 * * *", active: true },
      ]);
      await server.query(
        `insert into cron.job_run_details (jobid, runid, end_time)
       select jobid, jobid * 100 + day, now() - day * interval '1 day' from cron.job, generate_series(6, 8) day`,
      );
      expect(await server.query("select leasehold_wakeups.purge()")).toEqual([{ purge: 4 }]);
    } finally {
      await server.stop();
    }
  },
);

describe("the options of wake-ups", () => {
  test.each([
    [{ schedule: "now and then" }, "schedule"],
    [{ schedule: "* * * *" }, "schedule"],
    [{ schedule: "60 seconds" }, "schedule"],
    [{ schedule: "* * * * '); drop" }, "schedule"],
    [{ schedule: 5 as unknown as string }, "schedule"],
    [{ timeoutMs: 999 }, "timeoutMs"],
    [{ timeoutMs: 1.5 }, "timeoutMs"],
    [{ schema: "x".repeat(56) }, "schema"],
    [{ schema: "public" }, "schema"],
  ])("%j is refused", (options, name) => {
    expect(() => renderWakeups(options)).toThrow(
      expect.objectContaining({ code: "LH002", message: expect.stringContaining(name) }),
    );
  });
});
