import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../drain/support/client.ts";
import { RawClient } from "./raw-client.ts";
import { type ServedPGlite, servePGlite } from "./served-pglite.ts";

/* How connections share the one session of a served PGlite. */

let served: ServedPGlite;

beforeAll(async () => {
  served = await servePGlite();
  await served.db.query("create table public.words (word text)");
});
afterAll(() => served.close());
beforeEach(() => served.db.query("truncate public.words"));

const words = async (): Promise<unknown[]> => {
  const rows = await served.db.query("select word from public.words order by word");
  return rows.map(({ word }) => word);
};
const raw = () => RawClient.open(served.server.port);

/** What has been asked of the server is in its line once the server has answered a later one. */
const settled = async () => void (await (await RawClient.open(served.server.port)).socket.end());

describe("a transaction", () => {
  it("keeps the session until it ends: another's waits, and sees it whole", async () => {
    const [one, two] = [await served.connect(), await served.connect()];
    const order: string[] = [];
    await one.query("begin");
    await one.query("insert into words values ('a')");
    const other = (async () => {
      await two.query("begin");
      order.push("two begins");
      const { rows } = await two.query("select word from words");
      await two.query("insert into words values ('c')");
      await two.query("rollback");
      return rows;
    })();
    const inside = words().then((found) => order.push(`inside ${found}`));
    await settled();
    await one.query("insert into words values ('b')");
    order.push("one commits");
    await one.query("commit");
    expect(await other).toEqual([{ word: "a" }, { word: "b" }]);
    await inside;
    expect(order[0]).toBe("one commits");
    expect(order.sort()).toEqual(["inside a,b", "one commits", "two begins"]);
    expect(await words()).toEqual(["a", "b"]);
  });

  it("that has failed keeps it as well, until it is rolled back", async () => {
    const [one, two] = [await served.connect(), await served.connect()];
    await one.query("begin; insert into words values ('a')");
    await expect(one.query("select 1/0")).rejects.toMatchObject({ code: "22012" });
    let answered = false;
    const other = two.query("insert into words values ('b')").then(() => {
      answered = true;
    });
    await settled();
    await expect(one.query("select 1")).rejects.toMatchObject({ code: "25P02" });
    expect(answered).toBe(false);
    await one.query("rollback");
    await other;
    expect(await words()).toEqual(["b"]);
  });

  it.each(["in a transaction", "in a batch without its end"])(
    "ends with its client that dies %s",
    async (where) => {
      const client = await raw();
      if (where === "in a transaction") {
        client.send("Q", "begin; insert into words values ('lost')");
        expect(await client.answer()).toContain("Z T");
      } else {
        client.parse("", "insert into words values ('lost')").run("").send("H");
        await client.answerOf("C");
      }
      const waiting = served
        .connect()
        .then((other) => other.query("insert into words values ('b')"));
      await settled();
      client.socket.destroy();
      await waiting;
      expect(await words()).toEqual(["b"]);
    },
  );

  it("is answered still where its client has sent all and gone", async () => {
    const client = await raw();
    client.send("Q", "insert into words values ('last')").send("X");
    await client.closed;
    expect(await words()).toEqual(["last"]);
  });
});

describe("prepared statements", () => {
  it("are each connection's own, whatever they are named", async () => {
    const [one, two] = [await served.connect(), await served.connect()];
    for (let i = 0; i < 3; i += 1) {
      const answers = await Promise.all([
        one.query({ name: "same", text: "select 'one' as who, $1::int as n", values: [i] }),
        two.query({ name: "same", text: "select $1::text as who", values: [`two ${i}`] }),
      ]);
      expect(answers.map(({ rows }) => rows[0])).toEqual([
        { who: "one", n: i },
        { who: `two ${i}` },
      ]);
    }
  });

  it("are left alone by another's DISCARD ALL and DEALLOCATE ALL", async () => {
    const [one, two] = [await served.connect(), await served.connect()];
    const ask = async () => (await one.query({ name: "kept", text: "select 7 as n" })).rows;
    expect(await ask()).toEqual([{ n: 7 }]);
    for (const all of ["discard all", "deallocate all"]) {
      await two.query(all);
      expect(await ask()).toEqual([{ n: 7 }]);
    }
  });

  it("go when their own connection discards them, or is closed", async () => {
    const client = await raw();
    client.parse("mine", "select 1").send("S");
    expect(await client.answer()).toEqual(["1", "Z I"]);
    client.parse("mine", "select 2").send("S");
    expect((await client.answer())[0]).toMatch(/^E 42P05/);
    client.send("C", Buffer.from("S"), "mine").parse("mine", "select 2").send("S");
    expect(await client.answer()).toEqual(["3", "1", "Z I"]);
    client.send("Q", "deallocate all");
    await client.answer();
    client.run("mine").send("S");
    expect((await client.answer())[0]).toMatch(/^E 26000/);
    client.parse("again", "selec").send("S").parse("again", "select 3").run("again").send("S");
    expect((await client.answer())[0]).toMatch(/^E 42601/);
    expect(await client.answer()).toEqual(["1", "2", "D 3", "C", "Z I"]);
    await (await served.connect()).query("discard all");
    client.run("again").send("S");
    expect(await client.answer()).toEqual(["2", "D 3", "C", "Z I"]);
    client.socket.destroy();
    const own = "select name from pg_prepared_statements where statement = 'select 3'";
    await until(async () => (await served.db.query(own)).length === 0, "it is deallocated");
  });

  it("without a name stay for later batches, whoever is in between", async () => {
    const client = await raw();
    client.parse("", "select 'mine'").send("D", Buffer.from("S"), "").send("S");
    expect(await client.answer()).toEqual(["1", "t", "T", "Z I"]);
    await (await served.connect()).query("select $1::int", [1]);
    await served.db.query("select $1::int", [1]);
    client.run("").send("S");
    expect(await client.answer()).toEqual(["2", "D mine", "C", "Z I"]);
    client.socket.destroy();
  });

  it("of a batch that failed are skipped up to its end, as ever", async () => {
    const client = await raw();
    client.parse("", "select 1/0").run("").parse("", "select 'not run'").run("").send("S");
    client.parse("", "select 'run'").run("").send("S");
    expect(await client.answer()).toEqual(["1", "E 22012 division by zero", "Z I"]);
    expect(await client.answer()).toEqual(["1", "2", "D run", "C", "Z I"]);
    client.socket.destroy();
  });
});

describe("settings", () => {
  const show = async (client: { query(sql: string): Promise<{ rows: object[] }> }) =>
    (
      await client.query(
        "select current_setting('TimeZone') as zone, current_user as who, current_setting('app.tenant', true) as tenant, current_setting('app.other', true) as other",
      )
    ).rows[0];
  const plain = { zone: "UTC", who: "postgres" };

  it("are each connection's own, from turn to turn, and none of this process", async () => {
    await served.db.query("create role visitor");
    const [one, two] = [await served.connect(), await served.connect()];
    const zone = ((await show(two)) as { zone: string }).zone;
    await one.query("set timezone = 'Asia/Tokyo'; set app.tenant = 'it''s'; set role visitor");
    await one.query("select set_config('app.other', 'x', false)");
    expect(await show(two)).toMatchObject({ ...plain, zone });
    await two.query("set timezone to 'Europe/Berlin'");
    const own = { zone: "Asia/Tokyo", who: "visitor", tenant: "it's", other: "x" };
    expect(await show(one)).toEqual(own);
    expect(await show(two)).toMatchObject({ ...plain, zone: "Europe/Berlin" });
    const [inside] = await served.db.query(
      "select current_user as who, current_setting('TimeZone') as zone",
    );
    expect(inside).toEqual({ ...plain, zone });
    await expect(one.query("select * from words")).rejects.toMatchObject({ code: "42501" });
    await one.query("discard all");
    expect(await show(one)).toMatchObject({ ...plain, zone });
  });

  it("may be asked for as one connects, and are local where they are", async () => {
    const options = "-c statement_timeout=5s --search_path=pg_catalog\\,public";
    const client = await served.connect({ options });
    const path =
      "select current_setting('statement_timeout') || ' ' || current_setting('search_path') as both";
    expect((await client.query(path)).rows).toEqual([{ both: "5s pg_catalog,public" }]);
    await client.query("begin; set local statement_timeout = '1s'; commit");
    expect((await client.query(path)).rows).toEqual([{ both: "5s pg_catalog,public" }]);
    const wrong = await served.connect({ options: "-c nonsense=1" });
    await expect(wrong.query("select 1")).rejects.toMatchObject({ code: "42704" });
    expect(await words()).toEqual([]);
  });

  it("that can't be told apart are gone with the last connection: temporary tables, locks", async () => {
    const alone = await servePGlite();
    const client = await alone.connect();
    await client.query("create temp table passing (n int); select pg_advisory_lock(7)");
    await client.end();
    const left = `select (select count(*) from pg_class where relname = 'passing')
      + (select count(*) from pg_locks where locktype = 'advisory') as n`;
    await until(async () => (await alone.db.value(left)) === 0, "nothing is left");
    await alone.close();
  });
});

describe("what would break the session", () => {
  it("is refused: a COPY from the client among other statements, or prepared", async () => {
    const client = await raw();
    client.send("Q", "select 1; copy words from stdin");
    expect(await client.answer()).toContainEqual(
      expect.stringMatching(/^E 57014 COPY from stdin failed/),
    );
    client.parse("", "copy words from stdin").run("").send("S");
    expect(await client.answer()).toContainEqual(expect.stringMatching(/^E 57014/));
    client.send("Q", "copy nowhere from stdin").send("d", Buffer.from("x\n")).send("c");
    expect(await client.answer()).toEqual(["G", expect.stringMatching(/^E 42P01/), "Z I"]);
    client.send("Q", "copy words from stdin").send("d", Buffer.from("x\n")).send("f", "no");
    expect(await client.answer()).toContainEqual("E 57014 COPY from stdin failed: no");
    client.send("Q", "select 1");
    expect(await client.answer()).toEqual(["T", "D 1", "C", "Z I"]);
    expect(await words()).toEqual([]);
    client.socket.destroy();
  });
});
