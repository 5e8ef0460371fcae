import type { DatabaseTransaction } from "../database.ts";
import type { FunctionName } from "../functions.ts";
import { inTime } from "../in-time.ts";
import { silentMs, waitsForNobody } from "../unwaiting.ts";
import type { OwnPostgres, PostgresQueryable, PostgresRows, PostgresStatement } from "./like.ts";
import type { SocketKeeper } from "./socket.ts";
import { inTransaction } from "./transaction.ts";

const closeTimeoutSeconds = 5;

/** An instance of postgres.js and what is under way in it. */
interface Live {
  readonly sql: OwnPostgres;
  readonly keeper: SocketKeeper;
  readonly statements: Set<PostgresStatement>;
  /** Transactions that have begun and not ended. */
  transactions: number;
  retired: boolean;
  ending?: Promise<void>;
}

/**
 * An instance of leasehold's own, which is replaced by a new one when a connection of it has fallen
 * silent: postgres.js has no limit for a statement, tells nobody which socket one went to, and would
 * keep the connection's place until TCP gives up, many minutes later.
 *
 * What never left the old instance goes to the new one. Transactions that are open in the old one
 * may go on to their end; then it is closed, and its sockets are destroyed.
 */
export class RenewedInstance {
  readonly #open: () => { sql: OwnPostgres; keeper: SocketKeeper };
  readonly #lives = new Set<Live>();
  #live: Live;
  #closed = false;

  constructor(open: () => { sql: OwnPostgres; keeper: SocketKeeper }) {
    this.#open = open;
    this.#live = this.#begin();
  }

  /** The instance of now. */
  get sql(): OwnPostgres {
    return this.#live.sql;
  }

  /** Runs a statement that calls this function. */
  async run(
    make: (sql: PostgresQueryable) => PostgresStatement,
    name: FunctionName,
  ): Promise<PostgresRows> {
    for (;;) {
      const live = this.#live;
      const statement = make(live.sql);
      live.statements.add(statement);
      try {
        return await (waitsForNobody(name) ? this.#inTime(statement, live) : statement);
      } catch (error) {
        if (!live.retired || wasSent(statement)) throw error;
      } finally {
        live.statements.delete(statement);
      }
    }
  }

  async transaction<T>(schema: string, work: (tx: DatabaseTransaction) => Promise<T>): Promise<T> {
    for (;;) {
      const live = this.#live;
      let begun = false;
      const begin = (tx: DatabaseTransaction): Promise<T> => {
        begun = true;
        live.transactions += 1;
        return work(tx);
      };
      try {
        return await inTransaction(live.sql, schema, begin, () => this.#replace(live));
      } catch (error) {
        if (!live.retired || begun) throw error;
      } finally {
        if (begun) live.transactions -= 1;
        this.#endRetired(live);
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#lives].map((live) => this.#end(live)));
  }

  #begin(): Live {
    const live = { ...this.#open(), statements: new Set<never>(), transactions: 0, retired: false };
    this.#lives.add(live);
    return live;
  }

  /** Rejects where no answer comes; one that never left is taken back, and so is never run. */
  async #inTime(statement: PostgresStatement, live: Live): Promise<PostgresRows> {
    let settled = false;
    const answer = Promise.resolve(statement).finally(() => {
      settled = true;
    });
    try {
      return await inTime(answer, silentMs);
    } finally {
      if (!settled && wasSent(statement)) this.#replace(live);
      else if (!settled) statement.cancel?.();
    }
  }

  #replace(live: Live): void {
    if (live.retired || this.#closed) return;
    live.retired = true;
    this.#live = this.#begin();
    for (const statement of live.statements) if (!wasSent(statement)) statement.cancel?.();
    this.#endRetired(live);
  }

  #endRetired(live: Live): void {
    if (live.retired && live.transactions === 0) void this.#end(live);
  }

  #end(live: Live): Promise<void> {
    const done = (): void => {
      live.keeper.destroy();
      this.#lives.delete(live);
    };
    live.ending ??= live.sql.end({ timeout: closeTimeoutSeconds }).then(done, done);
    return live.ending;
  }
}

/** postgres.js notes the connection with a statement when it sends it. */
function wasSent({ state }: PostgresStatement): boolean {
  return Boolean(state);
}
