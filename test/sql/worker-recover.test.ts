import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

describe.each(backends)("worker_recover on %s", (backend) => {
  const { call, query } = useDatabase(backend);

  const claim = async (kind: string, worker: string): Promise<string> => {
    await call("enqueue", kind);
    const [job] = await query("select id from leasehold.claim(array[$1], p_worker => $2)", [
      kind,
      worker,
    ]);
    return String(job?.id);
  };
  const states = () =>
    query("select kind, worker, status, attempts, last_error_code from leasehold.jobs order by id");

  test("gives back what the worker does not know of, and nothing else", async () => {
    const known = await claim("a", "w1");
    await claim("a", "w1");
    await claim("b", "w1");
    await claim("c", "w1");
    await claim("a", "w2");
    expect(await call("worker_recover", "w1", ["a", "b"], [known])).toBe(2);
    const running = { status: "running", attempts: 1, last_error_code: null };
    const released = { status: "queued", attempts: 0, last_error_code: "CLAIM_LOST" };
    expect(await states()).toMatchObject([
      { kind: "a", worker: "w1", ...running },
      { kind: "a", worker: "w1", ...released },
      { kind: "b", worker: "w1", ...released },
      { kind: "c", worker: "w1", ...running },
      { kind: "a", worker: "w2", ...running },
    ]);
    expect(await call("worker_recover", "w1", ["a", "b"], [known])).toBe(0);
  });

  test("takes null for none known, and passes over what has ended", async () => {
    const done = await claim("a", "w1");
    await call("complete", done, 1);
    await claim("a", "w1");
    expect(await call("worker_recover", "w1", ["a"], null)).toBe(1);
  });

  test.each([
    ["p_worker", ["", ["a"], []]],
    ["p_worker", [null, ["a"], []]],
    ["p_kinds", ["w1", [], []]],
    ["p_kinds", ["w1", null, []]],
  ])("refuses a bad %s (LH002)", async (name, args) => {
    await expect(call("worker_recover", ...args)).rejects.toMatchObject({
      code: "LH002",
      message: expect.stringContaining(name),
    });
  });
});
