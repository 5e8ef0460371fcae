import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type Ended, leasehold } from "./binary.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
afterAll(() => db.close());
beforeEach(() => db.reset());

const run = (...args: string[]): Promise<Ended> =>
  leasehold(args, { env: { DATABASE_URL: db.url } });
const grant = (amount = "5") => run("grant", "ann", amount, "--reference", "payment 1");

/** A completed job of ann's that cost two credits. */
async function paid(): Promise<string> {
  const { stdout } = await run("enqueue", "k", "{}", "--cost", "2", "--owner", "ann", "--json");
  const { id } = JSON.parse(stdout);
  await db.database.call("claim_job", { p_id: id });
  await db.database.call("complete", { p_id: id, p_generation: 1 });
  return id;
}

describe("credits on the command line", () => {
  it("are granted once per reference", async () => {
    expect(await grant()).toEqual({ code: 0, stdout: "granted, 5 available\n", stderr: "" });
    expect(await grant()).toMatchObject({ code: 0, stdout: "duplicate, 5 available\n" });
    expect(await grant("6")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("p_amount is 6 under the reference 'payment 1'"),
    });
    expect(await run("grant", "ann", "1")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--reference is missing"),
    });
    expect(await run("grant", "ann", "-1", "--reference", "r")).toMatchObject({ code: 2 });
  });

  it("are shown with their history", async () => {
    await grant();
    const id = await paid();
    const { code, stdout } = await run("credits", "ann");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^3 available, 0 held\n\nAT /);
    expect(stdout).toMatch(new RegExp(`capture +-2 +${id}`));
    expect(stdout).toMatch(/grant +\+5 +payment 1\n/);
    const json = await run("credits", "ann", "--limit", "1", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      credits: { available: 3, held: 0 },
      entries: { entries: [{ kind: "capture" }] },
    });
    expect(await run("credits", "nobody")).toMatchObject({ stdout: "0 available, 0 held\n" });
  });

  it("that are too few keep a job out, and are refunded at most as captured", async () => {
    expect(await run("enqueue", "k", "{}", "--cost", "2", "--account", "ann")).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("insufficient"),
    });
    await grant();
    const id = await paid();
    const refund = (amount: string, reference: string) =>
      run("refund", id, amount, "--reference", reference);
    expect(await refund("3", "a")).toMatchObject({ code: 3 });
    expect(await refund("2", "b")).toMatchObject({ code: 0, stdout: "refunded, 5 available\n" });
    expect(await run("enqueue", "k", "{}", "--cost", "1")).toMatchObject({ code: 2 });
    expect(await run("enqueue", "k", "{}", "--account", "ann")).toMatchObject({ code: 2 });
  });

  it("are verified, and what does not balance ends with 1", async () => {
    await grant();
    expect(await run("verify-credits")).toMatchObject({ code: 0, stderr: "The books balance.\n" });
    await db.query("update leasehold.accounts set available = 4");
    const { code, stdout } = await run("verify-credits");
    expect(code).toBe(1);
    expect(stdout).toMatch(/available +ann/);
  });

  it("are a part of what verify checks, which ends with 1 where it does not hold", async () => {
    await grant();
    const sound = { ok: true, count: 0, violations: [] };
    expect(await run("verify")).toMatchObject({ code: 0, stderr: "All that must hold does.\n" });
    const asked = await run("verify", "--json");
    expect([asked.code, JSON.parse(asked.stdout)]).toEqual([0, sound]);
    await db.query("update leasehold.accounts set available = 4");
    const found = await run("verify");
    expect(found).toMatchObject({ code: 1, stdout: expect.stringMatching(/available +1 +ann/) });
    const told = await run("verify", "--json");
    const violations = [{ rule: "available", count: 1, ids: ["ann"] }];
    expect([told.code, JSON.parse(told.stdout)]).toEqual([1, { ok: false, count: 1, violations }]);
  });
});

describe("alerts", () => {
  it("tell what a person must look at", async () => {
    expect(await run("alerts")).toMatchObject({ code: 0, stderr: "No alerts.\n" });
    const answer = await db.database.call("enqueue", {
      p_kind: "pay",
      p_options: { external: true },
    });
    const { id } = answer as { id: string };
    await run("cancel", id);
    const jobs = await run("jobs", "--kind", "leasehold.reconcile", "--json");
    await run("cancel", JSON.parse(jobs.stdout).jobs[0].id);
    expect((await run("alerts")).stdout).toMatch(new RegExp(`critical +MONEY_UNKNOWN +${id}`));
    expect(await run("remove", id)).toMatchObject({ code: 0 });
  });
});
