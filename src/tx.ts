import { type Database, sqlCaller } from "./database.ts";
import { leaseholdError, show } from "./errors.ts";
import { unwrapped } from "./tx-error.ts";
import { type Library, libraryOf, ownFunctionHint } from "./tx-library.ts";

const statementEnd = "as leasehold(answer)";

/** A database may say that calls are all it has: it is reached by rpc, each a transaction of its own. */
type CalledDatabase = Database & { readonly rpcOnly?: boolean };

/**
 * `call` on the database, or inside the user's transaction where one is given. Throws LH104 for
 * whatever is given where the database is reached by rpc alone, since nothing can be one transaction
 * with its calls.
 */
export function callerFor(database: CalledDatabase, tx: unknown): Database["call"] {
  if (tx === undefined) return database.call.bind(database);
  if (database.rpcOnly) throw noTransaction();
  return transactionCaller(tx, database.schema);
}

/**
 * `call` inside the user's transaction, for functions that answer jsonb. Throws LH107 for anything
 * that is no open transaction of a library that is known.
 *
 * The answer comes as text and is parsed here: applications give their libraries parsers, plugins
 * and hooks that change types and the names of columns.
 */
export function transactionCaller(tx: unknown, schema: string): Database["call"] {
  const { handle, run } = openTransaction(tx);
  return sqlCaller(schema, async (call, values) => {
    const text = `select answer::text as answer from (${call}) ${statementEnd}`;
    try {
      return [{ answer: parsed(await run(handle, { text, values, schema })) }];
    } catch (error) {
      throw unwrapped(error, statementEnd);
    }
  });
}

function openTransaction(tx: unknown): { handle: unknown; run: NonNullable<Library["run"]> } {
  const library = libraryOf(tx);
  if (library === undefined) throw unknownTx(`tx is ${show(tx)}`);
  if (!library.isTransaction(tx)) throw unknownTx(`tx is ${library.main}`, library.hint);
  const handle = library.beneath === undefined ? tx : library.beneath(tx);
  const { run } = (handle === tx ? library : libraryOf(handle)) ?? {};
  if (run === undefined) throw unknownTx("the driver beneath tx is not known");
  return { handle, run };
}

/** The one value of the one row, which some plugin may have parsed already. */
function parsed(rows: unknown): unknown {
  const [row] = rows as Iterable<object>;
  const value: unknown = Object.values(row as object)[0];
  if (value instanceof Uint8Array) return JSON.parse(new TextDecoder().decode(value));
  return typeof value === "string" ? JSON.parse(value) : value;
}

function unknownTx(problem: string, hint = accepted): Error {
  return leaseholdError("LH107", problem, hint);
}

const accepted =
  "Pass what holds the open transaction: a node-postgres client after `begin`; the sql of " +
  "postgres.js' sql.begin(); or what the transaction function of PGlite, Drizzle, Kysely, Prisma " +
  "or Knex hands out.";

function noTransaction(): Error {
  return leaseholdError(
    "LH104",
    "tx was given, and this database is reached by rpc, whose every call is a transaction of its own",
    ownFunctionHint,
  );
}
