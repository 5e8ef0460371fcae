import { Pool } from "pg";
import { defineJob, type JobDefinition } from "../../../src/index.ts";

/** The points at which a process may die in a ledger's story. */
export type Point =
  | "before charge"
  | "after charge"
  /** The failure was recorded. */
  | "before lookup"
  | "after lookup"
  | "after refund"
  | "";

/** A ledger of the user's own, in a database that leasehold knows nothing of. */
export class Ledger {
  readonly #pool: Pool;

  constructor(url: string) {
    this.#pool = new Pool({ connectionString: url, max: 2 });
  }

  async create(): Promise<void> {
    await this.#pool.query(
      "create table ledger (key text primary key, refunds int not null default 0)",
    );
  }

  async charge(key: string): Promise<void> {
    await this.#pool.query("insert into ledger (key) values ($1) on conflict do nothing", [key]);
  }

  async lookup(key: string): Promise<"none" | "charged" | "refunded"> {
    const { rows } = await this.#pool.query("select refunds from ledger where key = $1", [key]);
    if (rows.length === 0) return "none";
    return rows[0].refunds > 0 ? "refunded" : "charged";
  }

  /** Idempotent by the key, as a payment provider's is. */
  async refund(key: string): Promise<void> {
    await this.#pool.query(
      "update ledger set refunds = refunds + 1 where key = $1 and refunds = 0",
      [key],
    );
  }

  async refunds(key: string): Promise<number> {
    const { rows } = await this.#pool.query("select refunds from ledger where key = $1", [key]);
    return rows[0]?.refunds ?? 0;
  }

  close(): Promise<void> {
    return this.#pool.end();
  }
}

/** The job that charges it. `at` is called at each point that a look at the ledger passes. */
export function payment(
  ledger: Ledger,
  at: (point: Point) => Promise<void> | void = () => undefined,
): JobDefinition {
  return defineJob("pay", {
    lease: "2s",
    settlement: {
      async lookup(key) {
        await at("before lookup");
        const answer = await ledger.lookup(key);
        await at("after lookup");
        return answer;
      },
      async refund(key) {
        await ledger.refund(key);
        await at("after refund");
      },
    },
  }) as unknown as JobDefinition;
}
