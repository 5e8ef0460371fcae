import { afterEach, expect } from "vitest";
import type { Backend } from "../../support/databases.ts";
import { type Fixture, useDatabase, type Value } from "./calls.ts";

/** A fixture for tests of credits, after each of which the books must balance. */
export interface CreditsFixture extends Fixture {
  /** Grants under a reference of that amount. */
  grant(amount?: number, account?: string): Promise<Value>;
  credits(account?: string): Promise<Value>;
  /** What the entries are, in their order. */
  kinds(): Promise<string[]>;
  /** The money of a job. */
  money(id: string): Promise<Value>;
}

/** The options of a job that costs ann three. */
export const paid = { cost: 3, account: "ann" };

/** Opens a database for the tests of this `describe`; one may tear the account "torn". */
export function useCredits(backend: Backend): CreditsFixture {
  const fixture = useDatabase(backend);
  const { call, query, value, job } = fixture;
  afterEach(async () => {
    if ((await value("select count(*) from leasehold.accounts where account = 'torn'")) > 0) return;
    expect(await call("verify_credits")).toEqual({ ok: true, violations: [] });
  });
  // Not copied: the database is open once the tests run.
  return Object.assign(Object.create(fixture), {
    grant: (amount = 10, account = "ann") =>
      call("grant_credits", account, amount, `first ${amount}`),
    credits: (account = "ann") => call("credits", account),
    kinds: async () =>
      (await query("select kind from leasehold.entries order by id")).map(({ kind }) => kind),
    money: async (id: string) => (await job(id))?.money,
  });
}
