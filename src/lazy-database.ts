import type { Database } from "./database.ts";
import { leaseholdError } from "./errors.ts";

/** A database that can do all that the seam knows; every database reached by SQL is one. */
export type FullDatabase = Required<Database>;

/**
 * A database that opens at its first call: making a client must cost nothing, since modules that
 * make one are also loaded by builds, tests and type generators that never call it.
 *
 * A failed opening is not remembered, so the next call tries again. After `close()` every call
 * rejects with LH107: a late heartbeat must not reopen what the application has shut down.
 */
export function lazyDatabase(schema: string, open: () => Promise<FullDatabase>): FullDatabase {
  let opening: Promise<FullDatabase> | undefined;
  let closed = false;

  const database = async (): Promise<FullDatabase> => {
    if (closed) throw closedError();
    opening ??= open().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };

  return {
    schema,
    call: async (name, args) => (await database()).call(name, args),
    transaction: async (work) => (await database()).transaction(work),
    script: async (sql) => (await database()).script(sql),
    listen: async (hooks) => (await database()).listen(hooks),
    close: async () => {
      if (closed) return;
      closed = true;
      await opening?.then(
        (opened) => opened.close(),
        () => undefined, // never opened: nothing to close
      );
    },
  };
}

function closedError(): Error {
  return leaseholdError(
    "LH107",
    "This database is closed",
    "close() was called on it: make another one, or stop workers before closing.",
  );
}
