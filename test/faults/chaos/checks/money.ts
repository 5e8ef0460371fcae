import { type Check, noticed, sqlCheck } from "../check.ts";

/** Money: leasehold's credits against the books of the run, and the ledger elsewhere. */
export const moneyChecks: readonly Check[] = [
  {
    promise: "each account has what was granted and refunded, less what completed",
    async look({ books, leasehold, direct }) {
      const { rows } = await direct.query(
        "select id from leasehold.jobs where kind = 'paid' and status = 'completed'",
      );
      const completed = new Set(rows.map(({ id }) => id));
      const violations: string[] = [];
      for (const [account, granted] of books.granted) {
        const spent = books.promised
          .filter((job) => job.kind === "paid" && job.owner === account && completed.has(job.id))
          .reduce((sum, { cost }) => sum + cost, 0);
        const due = granted + (books.refunded.get(account) ?? 0) - spent;
        const { available, held } = await leasehold.credits(account);
        if (available !== due || held !== 0) {
          violations.push(`${account}: ${available} available, ${held} held, not ${due} and 0`);
        }
      }
      return { count: books.granted.size, violations };
    },
  },
  sqlCheck(
    "what completed was captured, all else given back",
    `select id as what, case when status = 'completed' then coalesce(money, '') not in ('captured', 'refunded')
       else money is distinct from 'given_back' end as bad
     from leasehold.jobs where kind = 'paid'`,
  ),
  {
    promise: "the ledger elsewhere is charged exactly where a job completed",
    async look({ direct, provider }) {
      const jobs = await direct.query(
        "select id, run, status, money from leasehold.jobs where kind = 'charge'",
      );
      const charges = await provider.query("select key, refunded_at from charges");
      const standing = new Map(charges.rows.map((row) => [row.key, row.refunded_at === null]));
      const violations = jobs.rows
        .filter(({ id, run, status, money }) => {
          const charged = standing.get(`${id}:${run}`);
          if (status === "completed") return charged !== true;
          return money === "refunded"
            ? charged !== false
            : charged !== undefined || money !== "not_charged";
        })
        .map(({ id }) => id);
      return { count: jobs.rows.length, violations };
    },
  },
  sqlCheck(
    "no alert speaks of money that is unknown or was kept",
    `select job_id as what, code in ('MONEY_UNKNOWN', 'MONEY_CHARGED') as bad from leasehold.alerts`,
  ),
  noticed("the books are in order while all runs", ({ books }) => books.booksInOrder),
  noticed("no account is below zero", ({ books }) => books.granted.size),
];
