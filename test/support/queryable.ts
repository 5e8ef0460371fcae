// biome-ignore lint/suspicious/noExplicitAny: rows are whatever the statement selects.
type Value = any;

/** Runs statements; int8 is read as a number, timestamptz as a Date, jsonb as its value. */
export interface Queryable {
  /** The rows. Without values, several statements may stand in `text`. */
  query(text: string, values?: unknown[]): Promise<Record<string, Value>[]>;
  /** The first column of the first row; undefined where there is no row. */
  value(text: string, values?: unknown[]): Promise<Value>;
}

/** One connection for itself, to stage what happens between two. */
export interface Session extends Queryable {
  /** The process id of its backend, for `waitForLock`. */
  pid: number;
  begin(): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
  close(): Promise<void>;
}

/** `value` in terms of `query`. */
export function firstValue({ query }: Pick<Queryable, "query">): Pick<Queryable, "value"> {
  return {
    value: async (text, values) => Object.values((await query(text, values))[0] ?? {})[0],
  };
}
