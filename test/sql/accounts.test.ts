import { beforeEach, describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);

describe.each(backends)("accounts and holds on %s", (backend) => {
  const fixture = useDatabase(backend);
  const { call, enqueue, running } = fixture;

  beforeEach(async () => {
    for (const account of ["cy", "ann", "bob"]) await call("grant_credits", account, 10, "r");
  });

  test("accounts come by name, a page at a time, with what is held of each", async () => {
    await enqueue({ cost: 3, account: "bob" });
    await enqueue({ cost: 4, account: "bob" });
    await call("complete", await running({ cost: 1, account: "ann" }), 1);
    const ann = { account: "ann", available: 9, held: 0 };
    const bob = { account: "bob", available: 3, held: 7 };
    const cy = { account: "cy", available: 10, held: 0 };
    expect(await call("accounts")).toEqual({ accounts: [ann, bob, cy], next: null });
    expect(await call("accounts", 2)).toEqual({ accounts: [ann, bob], next: "bob" });
    expect(await call("accounts", 2, "bob")).toEqual({ accounts: [cy], next: null });
    expect(await call("accounts", 3)).toEqual({ accounts: [ann, bob, cy], next: null });
  });

  test("holds are those of unfinished jobs, the newest first", async () => {
    const first = await enqueue({ cost: 3, account: "ann" });
    const second = await running({ cost: 1, account: "ann" });
    await call("complete", await running({ cost: 1, account: "ann" }), 1);
    await enqueue({ cost: 1, account: "bob" });
    const held = (job_id: string, amount: number) => ({ job_id, run: 1, amount, created_at: at });
    expect(await call("holds", "ann")).toEqual({
      holds: [held(second, 1), held(first, 3)],
      more: false,
    });
    expect(await call("holds", "ann", 1)).toEqual({ holds: [held(second, 1)], more: true });
    expect(await call("holds", "nobody")).toEqual({ holds: [], more: false });
  });

  test.each([
    ["accounts", 0],
    ["accounts", 1001],
    ["holds", "ann", 0],
    ["holds", "ann", 1001],
    ["holds", " "],
  ])("%s refuses %j", async (name, ...values) => {
    await expect(call(name, ...values)).rejects.toMatchObject({ code: "LH002" });
  });
});
