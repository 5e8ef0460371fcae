import type { PGlite } from "@electric-sql/pglite";
import { PrismaPg } from "@prisma/adapter-pg";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import { drizzle as drizzlePostgresJs } from "drizzle-orm/postgres-js";
import Knex from "knex";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import postgres from "postgres";
import { expect, expectTypeOf, it } from "vitest";
import { createLeasehold, defineJob, type TransactionHandle } from "../../src/index.ts";
import { pg as leaseholdPg } from "../../src/pg/index.ts";
import { untouchable } from "../drain/support/interposed.ts";
import { PrismaClient } from "./prisma-client.ts";

const sendMail = defineJob("send_mail");
const leasehold = createLeasehold({ database: untouchable });

/** None of them is ever connected. */
const pool = new pg.Pool();
const sql = postgres();
const knex = Knex({ client: "pg" });

it.each([
  ["nothing", null],
  ["text", "tx"],
  ["a number", 5],
  ["an empty object", {}],
  ["a function", () => undefined],
  ["a database of leasehold's", leaseholdPg(pool)],
  ["a Map", new Map()],
  [
    "Drizzle over a driver that is not known",
    { _: { session: { client: {} } }, execute() {}, rollback() {} },
  ],
])("%s is no tx (LH107), and the error lists what is", async (_name, tx) => {
  const enqueue = leasehold.enqueue(sendMail, 1, { tx: tx as never });
  const many = leasehold.enqueueMany([{ job: sendMail, payload: 1 }], { tx: tx as never });
  for (const call of [enqueue, many]) {
    const error = await call.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "DatabaseError", code: "LH107" });
    expect(error).toMatchObject({
      message: expect.stringMatching(/^(tx is|the driver beneath tx)/),
    });
    for (const library of [
      "node-postgres",
      "postgres.js",
      "PGlite",
      "Drizzle",
      "Kysely",
      "Prisma",
      "Knex",
    ]) {
      expect(error).toMatchObject({ hint: expect.stringContaining(library) });
    }
  }
});

it("what stands outside of a transaction does not compile as a tx", () => {
  const kysely = new Kysely<object>({ dialect: new PostgresDialect({ pool }) });
  const prisma = new PrismaClient({ adapter: new PrismaPg({}) });
  expectTypeOf(pool).not.toExtend<TransactionHandle>();
  expectTypeOf(sql).not.toExtend<TransactionHandle>();
  expectTypeOf(knex).not.toExtend<TransactionHandle>();
  expectTypeOf(kysely).not.toExtend<TransactionHandle>();
  expectTypeOf(prisma).not.toExtend<TransactionHandle>();
  expectTypeOf(drizzlePg(pool)).not.toExtend<TransactionHandle>();
  expectTypeOf(drizzlePostgresJs(sql)).not.toExtend<TransactionHandle>();
  expectTypeOf<PGlite>().not.toExtend<TransactionHandle>();
});

it("what holds a transaction compiles as a tx", () => {
  expectTypeOf<pg.Client>().toExtend<TransactionHandle>();
  expectTypeOf<pg.PoolClient>().toExtend<TransactionHandle>();
  expectTypeOf<postgres.TransactionSql>().toExtend<TransactionHandle>();
  expectTypeOf<postgres.ReservedSql>().toExtend<TransactionHandle>();
  expectTypeOf<Knex.Knex.Transaction>().toExtend<TransactionHandle>();
});
