import { PrismaPg } from "@prisma/adapter-pg";
import { sql } from "drizzle-orm";
import { drizzle as drizzlePg } from "drizzle-orm/node-postgres";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { drizzle as drizzlePGlite } from "drizzle-orm/pglite";
import { drizzle as drizzlePostgresJs } from "drizzle-orm/postgres-js";
import Knex from "knex";
import {
  CamelCasePlugin,
  CompiledQuery,
  Kysely,
  ParseJSONResultsPlugin,
  PostgresDialect,
} from "kysely";
import pg from "pg";
import postgres from "postgres";
import type { Backend, TestDatabase } from "../support/databases.ts";
import { insert, type Library, type LibraryUse } from "./library.ts";
import { PrismaClient } from "./prisma-client.ts";

const none = async (): Promise<void> => undefined;

export function drizzleLibraries(): Record<string, LibraryUse> {
  const overPg = ({ url }: TestDatabase): Drizzle => {
    const pool = new pg.Pool({ connectionString: url });
    return { db: drizzlePg(pool), close: () => pool.end() };
  };
  const overPostgresJs = ({ url }: TestDatabase): Drizzle => {
    const client = postgres(url);
    return { db: drizzlePostgresJs(client), close: () => client.end() };
  };
  const overPGlite = ({ pglite }: TestDatabase): Drizzle => {
    return { db: drizzlePGlite(pglite), close: none };
  };
  const use = (backend: Backend, open: (db: TestDatabase) => Drizzle, nested: boolean) => ({
    backend,
    open: (db: TestDatabase) => drizzle(open(db), nested),
  });
  return {
    "the tx of Drizzle over node-postgres": use("postgres", overPg, false),
    "a nested tx of Drizzle over node-postgres": use("postgres", overPg, true),
    "the tx of Drizzle over postgres.js": use("postgres", overPostgresJs, false),
    "a nested tx of Drizzle over postgres.js": use("postgres", overPostgresJs, true),
    "the tx of Drizzle over PGlite": use("pglite", overPGlite, false),
    "a nested tx of Drizzle over PGlite": use("pglite", overPGlite, true),
  };
}

interface Drizzle {
  db: PgDatabase<PgQueryResultHKT>;
  close(): Promise<unknown>;
}

function drizzle({ db, close }: Drizzle, nested: boolean): Library {
  const order = (id: number) => sql`insert into public.orders values (${id})`;
  return {
    transaction: (work) =>
      db.transaction((outer) => {
        if (!nested) return work(outer, async (id) => outer.execute(order(id)));
        return outer.transaction((tx) => work(tx, async (id) => tx.execute(order(id))));
      }),
    main: { handle: db, named: /a Drizzle database/ },
    close,
  };
}

interface Tables {
  orders: { id: number };
}

/** An application may read jsonb as it likes. */
const ownJsonb: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === 3802 ? (text: string) => ({ own: text }) : pg.types.getTypeParser(oid, format),
};

export function kyselyLibraries(): Record<string, LibraryUse> {
  const open = (
    { url }: TestDatabase,
    plugins: (CamelCasePlugin | ParseJSONResultsPlugin)[],
    transaction: (db: Kysely<Tables>) => Library["transaction"],
  ): Library => {
    const pool = new pg.Pool({ connectionString: url, types: ownJsonb });
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), plugins });
    const main = { handle: db, named: /a Kysely instance/ };
    return { transaction: transaction(db), main, close: () => db.destroy() };
  };
  return {
    "the trx of Kysely": {
      backend: "postgres",
      open: (test) =>
        open(
          test,
          [],
          (db) => (work) =>
            db
              .transaction()
              .execute((trx) =>
                work(trx, (id) => trx.insertInto("orders").values({ id }).execute()),
              ),
        ),
    },
    "the trx of Kysely with plugins": {
      backend: "postgres",
      open: (test) =>
        open(
          test,
          [new ParseJSONResultsPlugin(), new CamelCasePlugin()],
          (db) => (work) =>
            db
              .transaction()
              .execute((trx) =>
                work(trx, (id) => trx.executeQuery(CompiledQuery.raw(insert, [id]))),
              ),
        ),
    },
    "a controlled transaction of Kysely": {
      backend: "postgres",
      open: (test) =>
        open(test, [], (db) => async (work) => {
          const trx = await db.startTransaction().execute();
          try {
            const order = (id: number) => trx.insertInto("orders").values({ id }).execute();
            const value = await work(trx, order);
            await trx.commit().execute();
            return value;
          } catch (error) {
            await trx.rollback().execute();
            throw error;
          }
        }),
    },
  };
}

export function prisma({ url }: TestDatabase): Library {
  const client = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });
  return {
    transaction: (work) =>
      client.$transaction((tx) => work(tx, (id) => tx.$executeRawUnsafe(insert, id))),
    main: { handle: client, named: /a PrismaClient/ },
    close: () => client.$disconnect(),
  };
}

export function knexLibraries(): Record<string, LibraryUse> {
  const open = (
    { url }: TestDatabase,
    config: Knex.Knex.Config,
    transaction: (knex: Knex.Knex) => Library["transaction"],
  ): Library => {
    const knex = Knex({ client: "pg", connection: url, ...config });
    const main = { handle: knex, named: /a Knex instance/ };
    return { transaction: transaction(knex), main, close: () => knex.destroy() };
  };
  const own: Knex.Knex.Config = {
    postProcessResponse: (answer) =>
      answer.rows?.map((row: object) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [`own_${name}`, value])),
      ),
    wrapIdentifier: (name, wrap) => wrap(name.toLowerCase()),
  };
  return {
    "the trx of Knex": {
      backend: "postgres",
      open: (test) =>
        open(
          test,
          {},
          (knex) => (work) =>
            knex.transaction((trx) => work(trx, async (id) => trx("orders").insert({ id }))),
        ),
    },
    "a nested trx of Knex with hooks": {
      backend: "postgres",
      open: (test) =>
        open(
          test,
          own,
          (knex) => (work) =>
            knex.transaction((outer) =>
              outer.transaction((trx) => work(trx, async (id) => trx("ORDERS").insert({ id }))),
            ),
        ),
    },
  };
}
