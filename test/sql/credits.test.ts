import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json } from "./support/calls.ts";
import { paid, useCredits } from "./support/credits.ts";

const most = 9_007_199_254_740_991;
const stranger = "0198a0b4-0000-7000-8000-000000000000";

describe.each(backends)("credits on %s", (backend) => {
  const fixture = useCredits(backend);
  const { call, query, enqueue, running, job, count, session } = fixture;
  const { grant, credits, kinds, money } = fixture;

  test("a grant adds to an account, and makes it where it is new", async () => {
    expect(await credits()).toEqual({ account: "ann", available: 0, held: 0 });
    expect(await grant()).toEqual({ outcome: "granted", available: 10 });
    expect(await call("grant_credits", "ann", 5, "second")).toEqual({
      outcome: "granted",
      available: 15,
    });
    expect(await credits()).toEqual({ account: "ann", available: 15, held: 0 });
  });

  test("a grant counts once under its reference, and never for another amount", async () => {
    await grant();
    expect(await grant()).toEqual({ outcome: "duplicate", available: 10 });
    await expect(call("grant_credits", "ann", 11, "first 10")).rejects.toMatchObject({
      code: "LH002",
      message: expect.stringContaining("p_amount is 11 under the reference 'first 10'"),
    });
    expect(await call("grant_credits", "bob", 11, "first 10")).toMatchObject({
      outcome: "granted",
    });
    expect(await count("entries")).toBe(2);
  });

  test("an account never passes 2^53 - 1, what it holds counted", async () => {
    await grant(most);
    expect(await call("grant_credits", "ann", 1, "more")).toEqual({
      outcome: "refused",
      available: most,
    });
    const id = await enqueue({ cost: 1, account: "ann" });
    expect(await call("grant_credits", "ann", 1, "more")).toMatchObject({ outcome: "refused" });
    await call("cancel", id);
    expect(await credits()).toEqual({ account: "ann", available: most, held: 0 });
  });

  test.each([
    ["p_amount", ["ann", 0, "r"]],
    ["p_amount", ["ann", -1, "r"]],
    ["p_amount", ["ann", most + 1, "r"]],
    ["p_amount", ["ann", null, "r"]],
    ["p_account", ["", 1, "r"]],
    ["p_account", [null, 1, "r"]],
    ["p_reference", ["ann", 1, " "]],
    ["p_reference", ["ann", 1, "x".repeat(501)]],
  ])("a grant refuses a bad %s: %j", async (name, values) => {
    await expect(call("grant_credits", ...values)).rejects.toMatchObject({
      code: "LH002",
      message: expect.stringMatching(new RegExp(`^${name} is `)),
    });
    expect(await count("entries")).toBe(0);
  });

  test.each([
    ["cost", { cost: -1, account: "ann" }],
    ["cost", { cost: 1.5, account: "ann" }],
    ["cost", { cost: "1", account: "ann" }],
    ["cost", { cost: most + 1, account: "ann" }],
    ["account", { cost: 1 }],
    ["account", { cost: 1, account: "" }],
    ["external", { cost: 1, account: "ann", external: true }],
    ["external", { external: "yes" }],
    ["on_conflict", { ...paid, key: "a", on_conflict: "replace" }],
    ["on_conflict", { ...paid, key: "a", on_conflict: "rerun" }],
    ["on_conflict", { external: true, key: "a", on_conflict: "rerun" }],
  ])("enqueue refuses a bad %s: %j", async (name, options) => {
    await grant();
    const refused = { code: "LH002", message: expect.stringMatching(new RegExp(`${name} is `)) };
    await expect(call("enqueue", "k", "{}", options)).rejects.toMatchObject(refused);
    const jobs = json([{ kind: "k" }, { kind: "k", ...options }]);
    await expect(call("enqueue_many", jobs)).rejects.toMatchObject({
      code: "LH002",
      message: expect.stringMatching(new RegExp(`^p_jobs\\[1\\]: ${name} is `)),
    });
    expect(await count()).toBe(0);
    expect(await credits()).toMatchObject({ available: 10 });
  });

  test("an enqueue holds what the job costs", async () => {
    await grant();
    const id = await enqueue(paid);
    expect(await job(id)).toMatchObject({ money: "held", cost: 3, account: "ann" });
    expect(await credits()).toEqual({ account: "ann", available: 7, held: 3 });
    expect(await kinds()).toEqual(["grant", "hold"]);
    expect(await call("status", id)).toMatchObject({ money: "held", notice: "queued" });
  });

  test("a job that costs nothing holds nothing", async () => {
    const id = await enqueue({ cost: 0, account: "ann" });
    expect(await job(id)).toMatchObject({ money: null, cost: null, account: "ann" });
    expect(await count("holds")).toBe(0);
  });

  test("too little available is insufficient, and nothing is written", async () => {
    await grant(2);
    const none = { outcome: "insufficient", id: null, status: null };
    expect(await call("enqueue", "k", "{}", { ...paid, key: "a", once: "o" })).toEqual(none);
    expect(await call("enqueue", "k", "{}", { cost: 1, account: "nobody" })).toEqual(none);
    expect(await count()).toBe(0);
    expect(await count("once")).toBe(0);
    expect(await kinds()).toEqual(["grant"]);
    await call("grant_credits", "ann", 1, "more");
    const answer = await call("enqueue", "k", "{}", { ...paid, key: "a", once: "o" });
    expect(answer).toMatchObject({ outcome: "created" });
  });

  test("a busy key is decided before the money", async () => {
    await grant(3);
    const id = await enqueue({ ...paid, key: "a" });
    expect(await call("enqueue", "k", "{}", { ...paid, key: "a" })).toMatchObject({
      outcome: "conflict",
      holder: { id, status: "queued" },
    });
  });

  test("a refund never passes the capture, and counts once under its reference", async () => {
    await grant();
    const id = await running(paid);
    expect(await call("refund", id, 1, "early")).toEqual({ outcome: "refused", available: 7 });
    await call("complete", id, 1);
    expect(await call("refund", id, 2, "a")).toEqual({ outcome: "refunded", available: 9 });
    expect(await call("refund", id, 2, "a")).toEqual({ outcome: "duplicate", available: 9 });
    await expect(call("refund", id, 1, "a")).rejects.toMatchObject({ code: "LH002" });
    expect(await money(id)).toBe("captured");
    expect(await call("refund", id, 2, "b")).toEqual({ outcome: "refused", available: 9 });
    expect(await call("refund", id, 1, "b")).toEqual({ outcome: "refunded", available: 10 });
    expect(await call("status", id)).toMatchObject({ notice: "completed_refunded" });
    expect(await kinds()).toEqual(["grant", "hold", "capture", "refund", "refund"]);
  });

  test("a refund works after prune, and is refused for a job that cost nothing", async () => {
    await grant();
    const id = await running(paid);
    await call("complete", id, 1);
    expect(await call("prune", { older_than_ms: 0 })).toEqual({ deleted: 1 });
    expect(await call("refund", id, 3, "late")).toEqual({ outcome: "refunded", available: 10 });
    expect(await call("refund", stranger, 1, "r")).toEqual({ outcome: "refused", available: null });
  });

  test("an enqueue that rolls back leaves the account as it was", async () => {
    await grant();
    await session(async (own) => {
      await own.query("begin");
      await own.enqueue(paid);
      expect(await own.call("credits", "ann")).toMatchObject({ available: 7, held: 3 });
      await own.query("rollback");
    });
    expect(await credits()).toMatchObject({ available: 10, held: 0 });
    expect(await count()).toBe(0);
  });

  test("entries tell an account's history, newest first, in pages", async () => {
    await grant();
    const id = await running(paid);
    await call("complete", id, 1);
    const first = await call("entries", "ann", 2);
    expect(first.entries).toMatchObject([
      { kind: "capture", available_delta: 0, held_delta: -3, job_id: id, reference: null },
      { kind: "hold", available_delta: -3, held_delta: 3, job_id: id },
    ]);
    expect(await call("entries", "ann", 2, first.next)).toMatchObject({
      entries: [{ kind: "grant", available_delta: 10, held_delta: 0, reference: "first 10" }],
      next: null,
    });
    expect(await call("entries", "bob")).toEqual({ entries: [], next: null });
  });

  test("verify_credits finds what does not balance", async () => {
    await call("grant_credits", "torn", 5, "r");
    const id = await running({ cost: 2, account: "torn" });
    await query("update leasehold.accounts set available = 4 where account = 'torn'");
    await query("update leasehold.holds set amount = 1 where job_id = $1", [id]);
    const { ok, violations } = await call("verify_credits");
    expect(ok).toBe(false);
    const found = violations.map(({ rule, account }: Record<string, string>) => [rule, account]);
    expect(found.sort()).toEqual([
      ["available", "torn"],
      ["held", "torn"],
      ["hold_entries", "torn"],
      ["job_money", "torn"],
    ]);
  });
});
