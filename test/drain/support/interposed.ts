import type { Arguments, Database } from "../../../src/database.ts";
import type { FunctionName } from "../../../src/functions.ts";

/** One call on its way: `go` runs it on the real database. */
export interface PassingCall {
  readonly name: FunctionName;
  readonly args: Arguments;
  /** The how-manieth of this name it is, from 1. */
  readonly nth: number;
  go(): Promise<unknown>;
}

/** The real database with somebody in between, who sees each call and may refuse or delay it. */
export function interposed(
  database: Database,
  between: (call: PassingCall) => Promise<unknown>,
): Database & { readonly calls: FunctionName[] } {
  const calls: FunctionName[] = [];
  return {
    ...database,
    calls,
    async call(name, args) {
      calls.push(name);
      const nth = calls.filter((each) => each === name).length;
      return between({ name, args, nth, go: () => database.call(name, args) });
    },
  };
}

/** A connection that breaks at the first call of this name, `times` times. */
export function failing(database: Database, name: FunctionName, times = 1) {
  return interposed(database, async (call) => {
    if (call.name === name && call.nth <= times) throw connectionLost();
    return call.go();
  });
}

export function connectionLost(): Error {
  return Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
}

/** A database that nobody may ask. */
export const untouchable: Database = {
  schema: "leasehold",
  call: async (name) => {
    throw new Error(`the database was touched: ${name}`);
  },
};
