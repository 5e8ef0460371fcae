import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import nodePostgres from "pg";
import postgresJs from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Listening } from "../../src/database.ts";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { pg } from "../../src/pg/index.ts";
import { pglite } from "../../src/pglite/index.ts";
import { postgres } from "../../src/postgres/index.ts";
import { until } from "../drain/support/client.ts";
import { conformance } from "./conformance.ts";
import { type ServedPGlite, servePGlite } from "./served-pglite.ts";

/* A PGlite served to other processes, with the drivers that they use. */

conformance("pg through the server of a PGlite", async () => {
  const served = await servePGlite();
  const pool = new nodePostgres.Pool({ connectionString: served.server.url, max: 5 });
  return {
    database: (schema) => pg(pool, { schema }),
    close: () => pool.end().then(served.close),
  };
});

conformance("postgres.js through the server of a PGlite", async () => {
  const served = await servePGlite();
  const sql = postgresJs(served.server.url, { max: 5, onnotice: () => undefined });
  return {
    database: (schema) => postgres(sql, { schema }),
    close: () => sql.end().then(served.close),
  };
});

describe("a served PGlite", () => {
  let served: ServedPGlite;

  beforeAll(async () => {
    served = await servePGlite();
  });
  afterAll(() => served.close());

  it.each([
    ["pg", pg],
    ["postgres.js", postgres],
  ])("wakes a worker of %s as soon as a job is there", async (_, driver) => {
    const database = driver(served.server.url);
    const mail = defineJob(`mail-${_}`);
    const done: unknown[] = [];
    const handlers = [handle(mail, (job) => void done.push(job.payload))];
    const leasehold = createLeasehold({ database, handlers });
    const worker = leasehold.work({ poll: "1h", idlePoll: "1h" });
    try {
      await until(() => worker.health().listening, "it listens");
      await leasehold.enqueue(mail, "from outside");
      await until(() => done.length === 1, "the job ran");
      await createLeasehold({ database: served.db.database }).enqueue(mail, "from inside");
      await until(() => done.length === 2, "the other job ran");
    } finally {
      await worker.stop();
      await database.close();
    }
    expect(done).toEqual(["from outside", "from inside"]);
  });

  it("lets 20 connections of two drivers take turns, in transactions and out of them", async () => {
    const pool = new nodePostgres.Pool({ connectionString: served.server.url, max: 10 });
    const sql = postgresJs(served.server.url, { max: 10, onnotice: () => undefined });
    await pool.query("create table counted (n int); insert into counted values (0)");
    const increment = async (): Promise<void> => {
      const client = await pool.connect();
      await client.query("begin");
      const { rows } = await client.query("select n from counted");
      await client.query("update counted set n = $1", [rows[0].n + 1]);
      await client.query("commit");
      client.release();
    };
    const incrementToo = (): Promise<unknown> =>
      sql.begin(async (tx) => {
        const [row] = await tx`select n from counted`;
        await tx`update counted set n = ${row?.n + 1}`;
      });
    const own = (): Promise<unknown> => served.db.database.call("reap", {});
    const rounds = Array.from({ length: 50 }, () => [increment(), incrementToo(), own()]);
    await Promise.all(rounds.flat());
    expect((await pool.query("select n from counted")).rows).toEqual([{ n: 100 }]);
    await pool.end();
    await sql.end();
  });

  it("carries values of many megabytes both ways", async () => {
    const client = await served.connect();
    const text = "漢x".repeat(5_000_000);
    const { rows } = await client.query("select $1::text as text, length($1) as n", [text]);
    expect(rows[0].n).toBe(text.length);
    expect(rows[0].text === text).toBe(true); // not toBe: the message would be 20 MB
    await client.query("create table large (value jsonb)");
    await client.query("insert into large values ($1)", [JSON.stringify({ text })]);
    const sql = postgresJs(served.server.url, { max: 1 });
    const [row] = await sql`select value from large`;
    expect(row?.value.text === text).toBe(true);
    await sql.end();
  });

  it("takes and gives COPY", async () => {
    const sql = postgresJs(served.server.url, { max: 1 });
    await sql`create table copied (a int, b text)`;
    const writable = await sql`copy copied from stdin`.writable();
    await new Promise((resolve, reject) => {
      writable.on("finish", resolve).on("error", reject);
      writable.write("1\tone\n");
      writable.end("2\ttwo\n");
    });
    let text = "";
    for await (const chunk of await sql`copy copied to stdout`.readable()) text += chunk;
    expect(text).toBe("1\tone\n2\ttwo\n");
    await sql.end();
  });

  it("hears of a notification in this process as at every connection that listens", async () => {
    const heard: string[] = [];
    const listening = (await pglite(served.own).listen({
      onNotification: (payload) => void heard.push(`inside ${payload}`),
      onLost: () => undefined,
    })) as Listening;
    const [one, two, deaf] = [
      await served.connect(),
      await served.connect(),
      await served.connect(),
    ];
    for (const [name, client] of Object.entries({ one, two, deaf })) {
      client.on("notification", ({ payload }) => void heard.push(`${name} ${payload}`));
    }
    await one.query("listen leasehold");
    await two.query('begin; LISTEN "leasehold"; commit');
    await deaf.query("listen leasehold; unlisten leasehold");
    await deaf.query("unlisten *"); // takes nothing from the others
    await deaf.query("select pg_notify('leasehold', 'a')");
    await vi.waitUntil(() => heard.length === 3);
    expect(heard.splice(0).sort()).toEqual(["inside a", "one a", "two a"]);

    await one.query("unlisten *");
    await deaf.query("discard all");
    await served.db.query("select pg_notify('leasehold', 'b')");
    await vi.waitUntil(() => heard.length === 2);
    expect(heard.splice(0).sort()).toEqual(["inside b", "two b"]);

    await listening.close();
    await two.query("notify leasehold, 'c'");
    expect(heard).toEqual(["two c"]);
    await two.end();
    const channels = () => served.db.query("select pg_listening_channels() as name");
    await vi.waitUntil(async () => (await channels()).length === 0);
  });
});

const psql = ["/usr/lib/postgresql/15/bin/psql", "/usr/bin/psql", "/usr/local/bin/psql"].find(
  (path) => existsSync(path),
);

describe.runIf(psql)("psql at a served PGlite", () => {
  it("runs statements, describes tables, and copies in and out", async () => {
    const served = await servePGlite();
    const commands = [
      "create table friends (id int primary key, name text)",
      "\\copy friends from program 'printf \"1\\\\tAda\\\\n2\\\\tBob\\\\n\"'",
      "\\d friends",
      "begin; update friends set name = 'Eve' where id = 2; commit",
      "\\copy friends to stdout",
      "select 1/0",
    ].flatMap((command) => ["-c", command]);
    const { stdout, stderr } = await promisify(execFile)(psql as string, [
      ...["-X", "-w", served.server.url],
      ...commands,
    ]).catch((error) => error);
    await served.close();
    expect(stdout).toContain("COPY 2");
    expect(stdout).toContain('"friends_pkey" PRIMARY KEY');
    expect(stdout).toContain("1\tAda\n2\tEve\n");
    expect(stderr).toBe("ERROR:  division by zero\n");
  });
});
