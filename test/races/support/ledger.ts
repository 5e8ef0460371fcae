import { afterEach, expect } from "vitest";
import type { Queryable } from "../../support/databases.ts";
import { call } from "./calls.ts";
import type { Race } from "./race.ts";

type On = Pick<Queryable, "query" | "value">;

/** What a job costs in these races, out of the account ann. */
export const paid = { cost: 3, account: "ann" };

export const grant = (on: On, amount: number, account = "ann", reference = `grant of ${amount}`) =>
  call(on, "grant_credits", account, amount, reference);

export const refund = (on: On, id: string, amount: number, reference: string) =>
  call(on, "refund", id, amount, reference);

export interface Ledger {
  /**
   * Accounts and jobs with their money in one line each, to be compared at once: "ann 7+3 grant hold"
   * has 7 available and holds 3, by these entries; "k queued held" is the job of key k.
   */
  book(): Promise<string[]>;
}

/** The books of a race's database. After each test they must balance, whoever won. */
export function openLedger(race: Race): Ledger {
  afterEach(async () => {
    expect(await call(race, "verify_credits")).toEqual({ ok: true, violations: [] });
  });
  return {
    async book() {
      const accounts = await race.query(`
        select concat_ws(' ', a.account,
          a.available || '+' || coalesce((select sum(h.amount) from leasehold.holds h
            where h.account = a.account and h.state = 'held'), 0),
          (select string_agg(e.kind, ' ' order by e.id) from leasehold.entries e
            where e.account = a.account)) as line
        from leasehold.accounts a order by a.account`);
      const jobs = await race.query(`
        select concat_ws(' ', coalesce(j.key, '-'), j.status, j.money) as line
        from leasehold.jobs j order by j.id`);
      return [...accounts, ...jobs].map(({ line }) => line);
    },
  };
}
