import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  createLeasehold,
  defineJob,
  type Leasehold,
  type TransactionHandle,
} from "../../src/index.ts";
import { pg as leaseholdPg } from "../../src/pg/index.ts";
import { counts, rowOf } from "../drain/support/client.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

const sendMail = defineJob("send_mail", { key: (payload) => String(payload) });

/** Runs `work` in a transaction of the user's own; what it throws rolls back. */
async function inTransaction<T>(
  db: TestDatabase,
  work: (tx: TransactionHandle & { query(text: string): Promise<unknown> }) => Promise<T>,
): Promise<T> {
  if (db.backend === "pglite") return db.pglite.transaction(work);
  const connection = await db.pool.connect();
  try {
    await connection.query("begin");
    const value = await work(connection);
    await connection.query("commit");
    return value;
  } catch (error) {
    await connection.query("rollback");
    throw error;
  } finally {
    connection.release();
  }
}

describe.each(backends)("enqueue in the user's transaction on %s (S37)", (backend) => {
  let db: TestDatabase;
  let leasehold: Leasehold;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
    await db.query("create table orders (id int)");
    leasehold = createLeasehold({ database: db.database });
  });
  beforeEach(async () => {
    await db.reset();
    await db.query("truncate orders");
  });
  afterAll(() => db.close());

  const state = async () => [
    await counts(db),
    await db.value("select count(*)::int from public.orders"),
  ];

  test("is there with the commit, and invisible before it", async () => {
    const answer = await inTransaction(db, async (tx) => {
      await tx.query("insert into public.orders values (1)");
      const created = await leasehold.enqueue(sendMail, 1, { tx });
      if (backend === "postgres") expect(await state()).toEqual([{}, 0]);
      return created;
    });
    expect(answer).toEqual({ outcome: "created", id: expect.any(String), status: "queued" });
    expect(await state()).toEqual([{ queued: 1 }, 1]);
  });

  test("leaves nothing with the rollback, and its key is free", async () => {
    const rolledBack = inTransaction(db, async (tx) => {
      await tx.query("insert into public.orders values (1)");
      await leasehold.enqueue(sendMail, 1, { tx, once: "mail-1" });
      const many = await leasehold.enqueueMany([{ job: sendMail, payload: 2 }], { tx });
      expect(many).toMatchObject([{ outcome: "created" }]);
      throw new Error("no order after all");
    });
    await expect(rolledBack).rejects.toThrow("no order after all");
    expect(await state()).toEqual([{}, 0]);
    expect(await leasehold.enqueue(sendMail, 1, { once: "mail-1" })).toMatchObject({
      outcome: "created",
    });
  });

  test("a conflict is an answer, and the transaction goes on", async () => {
    const holder = await leasehold.enqueue(sendMail, 1);
    await inTransaction(db, async (tx) => {
      const answer = await leasehold.enqueue(sendMail, 1, { tx });
      expect(answer).toMatchObject({
        outcome: "conflict",
        holder: { id: "id" in holder && holder.id },
      });
      await tx.query("insert into public.orders values (1)");
    });
    expect(await state()).toEqual([{ queued: 1 }, 1]);
  });

  test("a payload that is refused does not spoil the transaction", async () => {
    await inTransaction(db, async (tx) => {
      const refused = leasehold.enqueue(sendMail, { n: 1n }, { tx });
      await expect(refused).rejects.toMatchObject({ code: "LH103" });
      await tx.query("insert into public.orders values (1)");
    });
    expect(await state()).toEqual([{}, 1]);
  });
});

describe("enqueue in the user's transaction", () => {
  test("reads its answer also where the application leaves jsonb as text", async () => {
    const db = await openTestDatabase("postgres");
    const types: pg.CustomTypesConfig = { getTypeParser: () => (text: string) => text };
    const connection = new pg.Client({ connectionString: db.url, types });
    await connection.connect();
    const leasehold = createLeasehold({ database: db.database });
    await connection.query("begin");
    const answer = await leasehold.enqueue(sendMail, 1, { tx: connection });
    const [other] = await leasehold.enqueueMany([{ job: sendMail, payload: 2 }], {
      tx: connection,
    });
    await connection.query("commit");
    expect([answer.outcome, other?.outcome]).toEqual(["created", "created"]);
    expect(await rowOf(db, "id" in answer ? answer.id : "")).toMatchObject({ key: "1" });
    await connection.end();
    await db.close();
  });
});

describe("close", () => {
  test("leaves the caller's pool open, and closes a pool of the client's own for good", async () => {
    const db = await openTestDatabase("postgres");
    const shared = createLeasehold({ database: db.database });
    await shared.close();
    await shared.close();
    expect(await shared.enqueue(sendMail, 1)).toMatchObject({ outcome: "created" });
    const own = createLeasehold({ database: leaseholdPg(db.url) });
    expect(await own.enqueue(sendMail, 2)).toMatchObject({ outcome: "created" });
    await own.close();
    await expect(own.enqueue(sendMail, 3)).rejects.toMatchObject({ code: "LH107" });
    await db.close();
  });
});
