import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json } from "./support/calls.ts";
import { paid, useCredits } from "./support/credits.ts";

describe.each(backends)("enqueue_many of jobs that cost credits on %s", (backend) => {
  const fixture = useCredits(backend);
  const { call, query, value, running, job, age, count, grant, credits } = fixture;

  const many = async (...jobs: object[]): Promise<string[]> => {
    const answers = await call("enqueue_many", json(jobs.map((each) => ({ kind: "k", ...each }))));
    return answers.map(({ outcome }: { outcome: string }) => outcome);
  };

  test("decides in the order of the input, and a cheaper one behind may still be paid", async () => {
    await grant(5);
    const costs = [2, 4, 3, 1, 0].map((cost) => ({ cost, account: "ann" }));
    expect(await many(...costs)).toEqual([
      "created",
      "insufficient",
      "created",
      "insufficient",
      "created",
    ]);
    expect(await credits()).toEqual({ account: "ann", available: 0, held: 5 });
    expect(await count()).toBe(3);
  });

  test("spreads over accounts, keys and names, and a conflict costs nothing", async () => {
    await grant(3);
    await grant(3, "bob");
    expect(
      await many(
        { cost: 3, account: "bob", key: "z" },
        { cost: 3, account: "ann", key: "a" },
        { cost: 3, account: "bob", key: "a" },
        { cost: 1, account: "ann", once: "o" },
        { cost: 1, account: "nobody" },
      ),
    ).toEqual(["created", "created", "conflict", "insufficient", "insufficient"]);
    expect(await credits()).toMatchObject({ available: 0, held: 3 });
    expect(await credits("bob")).toMatchObject({ available: 0, held: 3 });
    expect(await count("once")).toBe(0);
  });

  test("a job that can't pay does not keep its key from the next one", async () => {
    await grant(1);
    const a = (cost: number, more = {}) => ({ cost, account: "ann", key: "a", ...more });
    expect(await many(a(3), a(2), a(1), a(1))).toEqual([
      "insufficient",
      "insufficient",
      "created",
      "conflict",
    ]);
    expect(await credits()).toMatchObject({ available: 0, held: 1 });
    expect(await count()).toBe(1);
  });

  test("nor its name, also where the other one has another key", async () => {
    await grant(1);
    const named = (cost: number, key: string) => ({ cost, account: "ann", once: "o", key });
    // The key "a" comes first, whatever the order of the input.
    expect(await many(named(1, "b"), named(3, "a"))).toEqual(["created", "insufficient"]);
    expect(await credits()).toMatchObject({ available: 0, held: 1 });
    expect(await value("select key from leasehold.jobs")).toBe("b");
  });

  test("what an orphan gives back is there for the others, though its key's job can't pay", async () => {
    await grant(3);
    const orphan = await running({ key: "a", cost: 3, account: "ann", max_attempts: 1 }, 1_000);
    await age(orphan, 2_000);
    expect(
      await many(
        { key: "a", cost: 4, account: "ann", once: "o" },
        { key: "b", once: "o" }, // waits behind it for the name
        { key: "c", cost: 3, account: "ann" },
      ),
    ).toEqual(["insufficient", "created", "created"]);
    expect(await job(orphan)).toMatchObject({ status: "failed", money: "given_back" });
    expect(await credits()).toMatchObject({ available: 0, held: 3 });
  });

  test("its own name stays nobody's, though another job got its key", async () => {
    await grant(3);
    const first = { key: "a", account: "ann", once: "x", cost: 4 };
    expect(await many(first, { ...first, once: "y", cost: 2 })).toEqual([
      "insufficient",
      "created",
    ]);
    expect(await query("select once from leasehold.once")).toEqual([{ once: "y" }]);
    expect(await call("verify")).toEqual({ ok: true, count: 0, violations: [] });
  });

  test("gives back what an orphan held before it holds", async () => {
    await grant(3);
    const orphan = await running({ ...paid, key: "a", max_attempts: 1 });
    await age(orphan, 60_001);
    expect(await many({ cost: 3, account: "ann", key: "a" })).toEqual(["created"]);
    expect(await job(orphan)).toMatchObject({ status: "failed", money: "given_back" });
    expect(await credits()).toMatchObject({ available: 0, held: 3 });
  });
});
