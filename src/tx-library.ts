import { answerTypes } from "./database.ts";
import { knexStatement } from "./tx-knex.ts";

/** One statement, whose answer is a single column of a single row, and text. */
export interface TxStatement {
  readonly text: string;
  readonly values: (string | null)[];
  readonly schema: string;
}

/** How one library is known by its shape, and how a statement runs in its transaction. */
export interface Library {
  /** What stands outside of a transaction, for the error that refuses it. */
  readonly main: string;
  /** How its transaction is had. */
  readonly hint: string;
  /** Whether this is a handle of the library at all. */
  knows(handle: Handle): boolean;
  isTransaction(handle: Handle): boolean;
  /** The driver's own transaction, where the library is to be left out of it. */
  beneath?(handle: Handle): unknown;
  /** Answers the rows. */
  run?(handle: Handle, statement: TxStatement): PromiseLike<unknown>;
}

/** Any object or function; what it has is found out. */
// biome-ignore lint/suspicious/noExplicitAny: each library's own
export type Handle = any;

const isFunction = (value: unknown): boolean => typeof value === "function";

/** How a job is enqueued together with writes where no transaction can be held open. */
export const ownFunctionHint =
  "Make the writes in an SQL function of your own that ends with `perform leasehold.enqueue('kind', " +
  "jsonb_build_object(…), '{}')`, and call that function by rpc: docs/supabase.md shows one.";

/** It holds no transaction ever: each rpc is one. */
const supabaseClient: Library = {
  main: "a Supabase client, whose every call is a transaction of its own",
  hint: ownFunctionHint,
  knows: (handle) => isFunction(handle.rpc) && isFunction(handle.from) && isFunction(handle.schema),
  isTransaction: () => false,
};

const prisma: Library = {
  main: "a PrismaClient",
  hint: "Pass the tx of prisma.$transaction(async (tx) => …).",
  knows: (handle) => isFunction(handle.$queryRawUnsafe),
  isTransaction: (handle) => !isFunction(handle.$connect),
  run: (handle, { text, values }) => handle.$queryRawUnsafe(text, ...values),
};

const kysely: Library = {
  main: "a Kysely instance",
  hint: "Pass the trx of db.transaction().execute(async (trx) => …).",
  knows: (handle) => isFunction(handle.executeQuery) && typeof handle.isTransaction === "boolean",
  isTransaction: (handle) => handle.isTransaction,
  run: async (handle, { text, values }) => {
    const query = { kind: "RawNode", sqlFragments: [text], parameters: [] };
    const queryId = { queryId: crypto.randomUUID() };
    return (await handle.executeQuery({ sql: text, parameters: values, query, queryId })).rows;
  },
};

/** Left out, since it would wrap answers and errors; the driver beneath is one of the others. */
const drizzle: Library = {
  main: "a Drizzle database",
  hint: "Pass the tx of db.transaction(async (tx) => …).",
  knows: (handle) => typeof handle._?.session === "object" && isFunction(handle.execute),
  isTransaction: (handle) => isFunction(handle.rollback),
  beneath: (handle) => handle._.session.client,
};

const knex: Library = {
  main: "a Knex instance",
  hint: "Pass the trx of knex.transaction(async (trx) => …).",
  knows: (handle) => isFunction(handle) && isFunction(handle.raw) && isFunction(handle.transaction),
  isTransaction: (handle) => handle.isTransaction === true,
  run: async (handle, statement) => {
    const { sql, bindings } = knexStatement(statement);
    const answer = await handle.raw(sql, bindings);
    return answer.rows ?? answer; // `postProcessResponse` may have taken the rows out
  },
};

const postgresJs: Library = {
  main: "the sql of postgres.js",
  hint: "Pass the sql that sql.begin(async (sql) => …) hands out, or a reserved one after `begin`.",
  knows: (handle) => isFunction(handle) && isFunction(handle.unsafe),
  isTransaction: (handle) => !isFunction(handle.begin),
  run: (handle, { text, values }) =>
    handle.unsafe(text, values, { prepare: false, simple: false }).raw(),
};

const pglite: Library = {
  main: "the PGlite itself",
  hint: "Pass the tx of its transaction(async (tx) => …).",
  knows: (handle) => isFunction(handle.query) && isFunction(handle.exec),
  isTransaction: (handle) => !isFunction(handle.transaction),
  run: async (handle, { text, values }) => {
    return (await handle.query(text, values, { parsers: { 25: String } })).rows;
  },
};

const nodePostgres: Library = {
  main: "a pool, whose every query may run on another connection",
  hint: "Pass a client of it, after `begin`.",
  knows: (handle) => isFunction(handle.query),
  isTransaction: (handle) => typeof handle.totalCount !== "number",
  run: async (handle, { text, values }) => {
    return (await handle.query({ text, values, types: answerTypes })).rows;
  },
};

/** The more special shapes first: many things have a `query`. */
const libraries = [
  ...[prisma, kysely, drizzle, knex, postgresJs],
  ...[pglite, supabaseClient, nodePostgres],
];

/** The library whose handle this is; undefined for anything else. */
export function libraryOf(handle: unknown): Library | undefined {
  const mayBe = (typeof handle === "object" && handle !== null) || typeof handle === "function";
  return mayBe ? libraries.find((library) => library.knows(handle)) : undefined;
}
