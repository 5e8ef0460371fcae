import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob } from "../../src/index.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { jobsOf, type Routes, routes } from "./support/routes.ts";

const paid = defineJob("paid", { cost: 3, startIn: "worker", maxAttempts: 1 });

describe.each(backends)("a job that costs, on %s", (backend) => {
  let db: TestDatabase;
  let own: Routes;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
    own = routes(db.database, { jobs: [paid] });
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  const grant = (account: string, amount: number) =>
    db.query(`select ${db.quotedSchema}.grant_credits($1, $2, 'a payment')`, [account, amount]);
  const start = (user = "ann") => own.ask("/jobs/paid?account=bob", { method: "POST", user });
  const idOf = async (answer: Response) => ((await answer.json()) as { id: string }).id;
  const codeOf = async (answer: Response) =>
    ((await answer.json()) as { error: { code: string } }).error.code;

  test("is 402 where its owner has not enough, and nothing is written", async () => {
    await grant("bob", 100);
    for (const available of [0, 2]) {
      if (available > 0) await grant("ann", available);
      const answer = await start();
      expect([answer.status, await codeOf(answer)]).toEqual([402, "INSUFFICIENT_CREDITS"]);
    }
    expect(await jobsOf(db)).toEqual([]);
  });

  test("of two at the same instant on credits for one, one starts", async () => {
    await grant("ann", 5);
    const both = await Promise.all([start(), start()]);
    expect(both.map(({ status }) => status).sort()).toEqual([202, 402]);
    expect(await jobsOf(db)).toMatchObject([{ account: "ann", cost: 3, money: "held" }]);
  });

  test("tells its money, and what it means for who waits", async () => {
    await grant("ann", 3);
    const id = await idOf(await start());
    const told = async () => (await own.ask(`/jobs/${id}`, { user: "ann" })).json();
    expect(await told()).toMatchObject({ money: "held", notice: "queued" });
    await db.database.call("claim", { p_kinds: ["paid"] });
    await age(db, id, 301_000);
    expect(await told()).toMatchObject({
      ...{ status: "failed", money: "given_back", notice: "failed_given_back" },
      message: "It failed. You were not charged: your credits are back.",
    });
  });

  test("is tried again by an admin only on credits that are there", async () => {
    await grant("ann", 3);
    const id = await idOf(await start());
    await own.leasehold.cancel(id);
    expect((await start()).status).toBe(202);
    const answer = await own.ask(`/jobs/${id}/retry`, { method: "POST", user: "admin" });
    expect([answer.status, await codeOf(answer)]).toEqual([402, "INSUFFICIENT_CREDITS"]);
    expect(await own.leasehold.status(id)).toMatchObject({ status: "cancelled" });
  });

  test("still being found out, it is asked for again from its end on", async () => {
    await grant("ann", 3);
    const id = await idOf(await start());
    await age(db, id, 300_000);
    await own.leasehold.cancel(id);
    const retryAfter = async () =>
      (await own.ask(`/jobs/${id}`, { user: "ann" })).headers.get("retry-after");
    expect(await retryAfter()).toBeNull();
    await age(db, id, 100_000);
    await db.query(`update ${db.quotedSchema}.jobs set money = 'checking' where id = $1`, [id]);
    expect(await retryAfter()).toBe("10");
  });
});
