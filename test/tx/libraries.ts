import pg from "pg";
import postgres from "postgres";
import type { TestDatabase } from "../support/databases.ts";
import { insert, type Library, type LibraryUse } from "./library.ts";
import { drizzleLibraries, knexLibraries, kyselyLibraries, prisma } from "./orms.ts";

const none = async (): Promise<void> => undefined;

/** Each assigned to `TransactionHandle` as it is, without a cast. */
export const libraries: Record<string, LibraryUse> = {
  "a node-postgres client": {
    backend: "postgres",
    open: ({ url }) => nodePostgres(new pg.Pool({ connectionString: url })),
  },
  "a node-postgres client with parsers of its own": {
    backend: "postgres",
    open: ({ url }) => {
      const types = { getTypeParser: () => (text: string) => `own ${text}` } as never;
      return nodePostgres(new pg.Pool({ connectionString: url, types }));
    },
  },
  "the tx of PGlite": {
    backend: "pglite",
    open: ({ pglite }) => ({
      transaction: (work) =>
        pglite.transaction((tx) => work(tx, (id) => tx.query(insert, [id]))) as never,
      main: { handle: pglite, named: /the PGlite itself/ },
      close: none,
    }),
  },
  ...postgresJsLibraries(),
  ...drizzleLibraries(),
  ...kyselyLibraries(),
  "the tx of Prisma": { backend: "postgres", open: prisma },
  ...knexLibraries(),
};

function nodePostgres(pool: pg.Pool): Library {
  return {
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query("begin");
        const value = await work(client, (id) => client.query(insert, [id]));
        await client.query("commit");
        return value;
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
    main: { handle: pool, named: /a pool/ },
    close: () => pool.end(),
  };
}

function postgresJsLibraries(): Record<string, LibraryUse> {
  const open = (
    { url }: TestDatabase,
    options: object,
    transaction: (sql: postgres.Sql) => Library["transaction"],
  ): Library => {
    const sql = postgres(url, options) as postgres.Sql;
    const main = { handle: sql, named: /the sql of postgres\.js/ };
    return { transaction: transaction(sql), main, close: () => sql.end() };
  };
  const loud = { value: { from: (value: unknown) => `own ${value}` } };
  return {
    "the sql of postgres.js' begin": {
      backend: "postgres",
      open: (db) =>
        open(
          db,
          {},
          (sql) => (work) =>
            sql.begin((tx) => work(tx, (id) => tx`insert into orders values (${id})`)) as never,
        ),
    },
    "the sql of a savepoint of postgres.js, with transforms": {
      backend: "postgres",
      open: (db) =>
        open(
          db,
          { transform: { ...postgres.camel, ...loud } },
          (sql) => (work) =>
            sql.begin((outer) =>
              outer.savepoint((tx) => work(tx, (id) => tx`insert into orders values (${id})`)),
            ) as never,
        ),
    },
    "a reserved connection of postgres.js": {
      backend: "postgres",
      open: (db) => open(db, {}, reserved),
    },
  };
}

function reserved(sql: postgres.Sql): Library["transaction"] {
  return async (work) => {
    const tx = await sql.reserve();
    try {
      await tx`begin`;
      const value = await work(tx, (id) => tx`insert into orders values (${id})`);
      await tx`commit`;
      return value;
    } catch (error) {
      await tx`rollback`;
      throw error;
    } finally {
      tx.release();
    }
  };
}
