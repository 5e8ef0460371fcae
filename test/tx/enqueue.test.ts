import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createLeasehold, defineJob, type Leasehold, LeaseholdError } from "../../src/index.ts";
import { pg } from "../../src/pg/index.ts";
import { pglite } from "../../src/pglite/index.ts";
import { migrate } from "../../src/schema/index.ts";
import { transactionCaller } from "../../src/tx.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { libraries } from "./libraries.ts";
import type { Library } from "./library.ts";

const sendMail = defineJob("send_mail", { key: (payload) => String((payload as { n: number }).n) });

/** No library may take part of it for syntax of its own. */
const oddSchema = `We"ird näme ${"$"}1 :a \\?`;

const databases = new Map<string, TestDatabase>();

beforeAll(async () => {
  for (const backend of backends) {
    const db = await openTestDatabase(backend);
    databases.set(backend, db);
    await db.query("create table public.orders (id int)");
    await db.query(`create function public.raise() returns trigger language plpgsql as $$ begin
      raise exception 'asked for - %', new.key using errcode = new.key; end $$`);
    await db.query(`create trigger raise before insert on leasehold.jobs
      for each row when (new.kind = 'raise') execute function public.raise()`);
    await migrate(inSchema(db, oddSchema));
  }
});
afterAll(async () => {
  for (const db of databases.values()) await db.close();
});

function inSchema(db: TestDatabase, schema: string) {
  return db.backend === "pglite" ? pglite(db.pglite, { schema }) : pg(db.pool, { schema });
}

describe.each(Object.keys(libraries))("enqueue with %s as tx (S37)", (name) => {
  const use = libraries[name] as (typeof libraries)[string];
  let db: TestDatabase;
  let library: Library;
  let leasehold: Leasehold;

  beforeAll(() => {
    db = databases.get(use.backend) as TestDatabase;
    library = use.open(db);
    leasehold = createLeasehold({ database: db.database });
  });
  beforeEach(async () => {
    await db.reset();
    await db.query("truncate public.orders");
  });
  afterAll(() => library.close());

  /** The numbers of jobs and of orders, seen from outside. */
  const counts = async () => [
    await db.value("select count(*)::int from leasehold.jobs"),
    await db.value("select count(*)::int from public.orders"),
  ];

  it("leaves the job there with the commit, together with the user's own row", async () => {
    const answer = await library.transaction(async (tx, order) => {
      const created = await leasehold.enqueue(sendMail, { n: 1 }, { tx });
      await order(1);
      if (use.backend === "postgres") expect(await counts()).toEqual([0, 0]);
      return created;
    });
    expect(answer).toEqual({ outcome: "created", id: expect.any(String), status: "queued" });
    expect(await counts()).toEqual([1, 1]);
  });

  it("leaves nothing with the rollback, and the key is free", async () => {
    const rolledBack = library.transaction(async (tx, order) => {
      await order(1);
      await leasehold.enqueue(sendMail, { n: 1 }, { tx, once: "mail-1" });
      throw new Error("no order after all");
    });
    await expect(rolledBack).rejects.toThrow("no order after all");
    expect(await counts()).toEqual([0, 0]);
    const again = await leasehold.enqueue(sendMail, { n: 1 }, { once: "mail-1" });
    expect(again).toMatchObject({ outcome: "created" });
  });

  it("answers a conflict as a value, and the transaction goes on", async () => {
    const holder = (await leasehold.enqueue(sendMail, { n: 1 })) as { id: string };
    const answer = await library.transaction(async (tx, order) => {
      const conflict = await leasehold.enqueue(sendMail, { n: 1 }, { tx });
      await order(1);
      return conflict;
    });
    expect(answer).toEqual({ outcome: "conflict", holder: { id: holder.id, status: "queued" } });
    expect(await counts()).toEqual([1, 1]);
  });

  it("stores and answers the same as outside of a transaction", async () => {
    const payload = {
      n: 1,
      snake_case: { camelCase: [null, true, [], {}], "": "ü 漢 👩‍🚀 \" \\ \n \u2028 $1 ? :a ' %s" },
      numbers: [0, -1.5, 1e21, 9007199254740991],
      large: "0123456789".repeat(50_000),
    };
    const options = { runAfter: "2030-01-02T03:04:05.678901Z", owner: "o?", priority: -3 };
    const outside = await leasehold.enqueue(sendMail, payload, { ...options, key: "outside" });
    const inside = await library.transaction((tx) =>
      leasehold.enqueue(sendMail, payload, { ...options, key: "inside", tx }),
    );
    expect(inside).toEqual({ ...outside, id: expect.any(String) });
    const stored = `select to_jsonb(j) - '{id,key,created_at}'::text[] as job, run_after::text
      from leasehold.jobs j order by id`;
    const [first, second] = await db.query(stored);
    expect(second).toEqual(first);
    expect(second?.job.payload).toEqual(payload);
    expect(second?.run_after).toMatch(/05\.678901/);
  });

  it("takes many at once, and answers in their order", async () => {
    await leasehold.enqueue(sendMail, { n: 2 });
    const items = [3, 2, 1].map((n) => ({ job: sendMail, payload: { n } }));
    const answers = await library.transaction((tx) => leasehold.enqueueMany(items, { tx }));
    const keys = await db.query("select id, key from leasehold.jobs");
    const ids = Object.fromEntries(keys.map(({ id, key }) => [key, id]));
    const holder = { id: ids[2], status: "queued" };
    expect(answers).toEqual([
      { outcome: "created", id: ids[3], status: "queued" },
      { outcome: "conflict", holder },
      { outcome: "created", id: ids[1], status: "queued" },
    ]);
    expect(await counts()).toEqual([3, 0]);
  });

  it("works in a schema of any name", async () => {
    const other = createLeasehold({ database: inSchema(db, oddSchema) });
    const answer = await library.transaction((tx) => other.enqueue(sendMail, { n: 1 }, { tx }));
    expect(answer).toMatchObject({ outcome: "created" });
    expect(await counts()).toEqual([0, 0]);
    await other.cancel((answer as { id: string }).id);
  });

  /** The error that a call rejects with, and that its transaction hands on. */
  async function errorOf(schema: string, args: Record<string, unknown>): Promise<unknown> {
    let inside: unknown;
    const failed = library.transaction(async (tx) => {
      inside = await transactionCaller(tx, schema)("enqueue", args).catch((error) => error);
      throw inside;
    });
    const outside = await failed.catch((error: unknown) => error);
    expect(outside).toBe(inside);
    return inside;
  }

  it("throws what leasehold's functions raise as leasehold's own errors", async () => {
    const args = { p_kind: "k", p_payload: { a: "b" }, p_options: { ownr: "ann - " } };
    const error = await errorOf("leasehold", args);
    expect(error).toMatchObject({ name: "InvalidArgumentError", code: "LH003" });
    expect(error).toMatchObject({ hint: expect.stringMatching(/./), cause: expect.any(Error) });
    const plain = await db.database.call("enqueue", args).catch((thrown: unknown) => thrown);
    const { message, hint } = plain as LeaseholdError;
    expect(error).toMatchObject({ message, hint });
  });

  it("names `leasehold migrate` where the schema is missing", async () => {
    const error = await errorOf("not_here", { p_kind: "k" });
    expect(error).toMatchObject({ name: "SchemaError", code: "LH007" });
  });

  it.each(["40001", "23505", "22P02", "P0001", "42883"])(
    "leaves PostgreSQL's other errors their SQLSTATE: %s",
    async (code) => {
      const error = await errorOf("leasehold", { p_kind: "raise", p_options: { key: code } });
      expect(error).not.toBeInstanceOf(LeaseholdError);
      expect(error).toBeInstanceOf(Error);
      expect(error).toMatchObject({
        code,
        message: expect.stringContaining(`asked for - ${code}`),
      });
    },
  );

  it("refuses what stands outside of the transaction, and says where to find it", async () => {
    const tx = library.main.handle as never;
    for (const call of [
      leasehold.enqueue(sendMail, { n: 1 }, { tx }),
      leasehold.enqueueMany([{ job: sendMail, payload: { n: 1 } }], { tx }),
    ]) {
      const error = await call.catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ name: "DatabaseError", code: "LH107" });
      expect(error).toMatchObject({ message: expect.stringMatching(library.main.named) });
      expect(error).toMatchObject({
        hint: expect.stringMatching(/^Pass (the (tx|trx|sql)|a client)/),
      });
    }
    expect(await counts()).toEqual([0, 0]);
  });
});
