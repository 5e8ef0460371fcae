import { leaseholdError, SchemaError } from "./errors.ts";
import { argumentTypes, type FunctionName, isRowFunction } from "./functions.ts";

/**
 * The seam between leasehold and a database: one method. Every operation of the product is one SQL
 * function, so a pool, an open transaction, PostgREST's rpc and a socket to another process are
 * equal clients as soon as they can call a function by name.
 */
export interface Database {
  /** The schema that holds leasehold's functions. */
  readonly schema: string;

  /**
   * Calls one SQL function with named arguments; arguments left out take the function's defaults.
   * Answers the function's value, or an array of rows for `claim`, `claim_job` and
   * `finish_and_claim`.
   * Throws a LeaseholdError for SQLSTATE class LH, and the driver's own error for all else.
   */
  call(name: FunctionName, args: Arguments): Promise<unknown>;

  /**
   * Runs `work` in one transaction: commits when it resolves, rolls back when it rejects. Absent
   * where the database can't hold a transaction open (rpc, a socket).
   */
  transaction?<T>(work: (tx: DatabaseTransaction) => Promise<T>): Promise<T>;

  /** Runs a script of many statements in one transaction. Only `migrate` needs it. */
  script?(sql: string): Promise<void>;

  /**
   * Opens a connection of its own that hears the notifications on the channel named as the schema.
   * Answers null where the database has no such connection to give; whoever needs to know of new
   * jobs then asks again and again. Rejects when the connection can't be made.
   */
  listen?(hooks: ListenHooks): Promise<Listening | null>;

  /** Closes what this object opened itself; a pool that the user passed in stays open. */
  close?(): Promise<void>;
}

/** Who is told of what happens on a listening connection. Neither may throw. */
export interface ListenHooks {
  onNotification(payload: string): void;
  /** The connection is gone, and no notification comes any more. At most once; not after `close`. */
  onLost(error: Error): void;
}

/** A connection that listens. */
export interface Listening {
  /**
   * True where there is no connection that could be lost: the database lives in this process. An
   * answer may then take as long as others keep its one session busy.
   */
  readonly local?: boolean;
  /** Calls one SQL function on this very connection, so that the answer proves that it is alive. */
  call(name: FunctionName, args: Arguments): Promise<unknown>;
  /** Ends the connection, also a dead one. Never rejects. */
  close(): Promise<void>;
}

/** An open transaction: the same `call`, and the driver's own handle for the user's statements. */
export interface DatabaseTransaction {
  // biome-ignore lint/suspicious/noExplicitAny: each driver has its own
  readonly client: any;
  call(name: FunctionName, args: Arguments): Promise<unknown>;
  /**
   * Gives the transaction's connection up, which the server has ended and which keeps an answer for
   * ever: what waits on it rejects, and so does the transaction. Absent where there is no connection
   * that could be lost.
   */
  abandon?(): void;
}

export type Arguments = Readonly<Record<string, unknown>>;
export type Row = Record<string, unknown>;

/**
 * Runs one statement with positional text parameters and answers its rows. What every SQL driver
 * must bring; see `sqlCaller`. `name` is the function that the statement calls.
 */
export type Query = (text: string, values: (string | null)[], name: FunctionName) => Promise<Row[]>;

/**
 * Makes `call` out of a driver's query method.
 *
 * Every argument travels as text and is cast in SQL (`$1::text::jsonb`), since drivers disagree
 * about jsonb, arrays, int8 and timestamps, and postgres.js encodes `$1::jsonb` twice.
 */
export function sqlCaller(
  schema: string,
  query: Query,
  { rowsAsJson = false }: CallerOptions = {},
): Database["call"] {
  const prefix = quoteIdentifier(schema);
  // Made once: there are as many as there are functions and ways to leave arguments out.
  const statements = new Map<string, string>();
  const statement = (name: FunctionName, names: readonly string[], asJson: boolean): string => {
    const key = `${name} ${names}`;
    let text = statements.get(key);
    if (text === undefined) {
      const types = argumentTypes[name] as Record<string, string>;
      const list = names.map((argument, i) => `${argument} => $${i + 1}::text::${types[argument]}`);
      const call = `${prefix}.${name}(${list.join(", ")})`;
      text = asJson ? `select to_jsonb(r) from ${call} r` : `select * from ${call}`;
      statements.set(key, text);
    }
    return text;
  };
  return async (name, args) => {
    const types = argumentTypes[name] as Record<string, string>;
    const names = Object.keys(args).filter((argument) => args[argument] !== undefined);
    const values = names.map((argument) => encode(types[argument], args[argument]));
    const asJson = rowsAsJson && isRowFunction(name);
    const rows = await query(statement(name, names, asJson), values, name).catch(
      (error: unknown) => {
        throw translate(error, schema);
      },
    );
    if (asJson) return rows.map(firstColumn);
    return isRowFunction(name) ? rows : firstColumn(rows[0] ?? {});
  };
}

function firstColumn(row: Row): unknown {
  return Object.values(row)[0];
}

export interface CallerOptions {
  /**
   * For a driver that may rename columns: the rows of `claim` and its like come as one value of
   * jsonb each, so that every statement answers a single column and its name means nothing.
   */
  rowsAsJson?: boolean;
}

/**
 * How the answers of the functions are read from their text form, by type oid; all other types stay
 * text. Drivers are given this table with each call, since applications change the parsers of their
 * driver (int8 as number, jsonb by a parser that keeps big numbers) and would change ours with them.
 */
export const answerParsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t", // bool
  20: Number, // int8
  21: Number, // int2
  23: Number, // int4
  114: (text) => JSON.parse(text), // json
  3802: (text) => JSON.parse(text), // jsonb
};

/** The same in the form in which node-postgres takes it with a statement. */
export const answerTypes = {
  getTypeParser: (oid: number): ((text: string) => unknown) => answerParsers[oid] ?? String,
};

/** `"` doubled and the whole quoted, so that any identifier is safe in SQL text. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function encode(type: string | undefined, value: unknown): string | null {
  if (value === null) return null;
  if (type === "jsonb") return JSON.stringify(value);
  if (type === "text[]") return textArray(value as readonly string[]);
  if (type?.endsWith("[]")) return `{${(value as readonly unknown[]).join(",")}}`;
  return String(value);
}

function textArray(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** What a driver's error carries, for those that come from PostgreSQL. */
interface PostgresError {
  code?: unknown;
  message?: unknown;
  hint?: unknown;
  /** The functions that the error passed through; absent when our own statement is at fault. */
  where?: unknown;
}

/** Turns SQLSTATE class LH and a missing schema into leasehold's errors; leaves the rest alone. */
export function translate(error: unknown, schema: string): unknown {
  const { code, message, hint, where } = (error ?? {}) as PostgresError;
  if (typeof code !== "string") return error;
  if (/^LH0\d\d$/.test(code)) {
    return leaseholdError(code as "LH002", String(message), String(hint ?? ""), { cause: error });
  }
  // 3F000: no such schema; 42883: no such function (an older schema, or none at all). From within
  // a function, as of a trigger that the user put on our tables, they mean something else.
  if ((code === "3F000" || code === "42883") && !where) {
    return new SchemaError(
      "LH007",
      `The schema ${quoteIdentifier(schema)} is missing in this database, or older than this version of leasehold`,
      "Run `leasehold migrate`, or put its SQL (`leasehold migrate --print`) among your migrations.",
      { cause: error },
    );
  }
  return error;
}
