import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { json, useDatabase } from "./support/calls.ts";

const unknown = "00000000-0000-7000-8000-000000000000";

describe.each(backends)("the argument of finish_many on %s", (backend) => {
  const { call, running, changes } = useDatabase(backend);

  const good = { id: unknown, generation: 1, action: "complete" };
  test.each([
    [{}, "LH002", "p_outcomes is {}"],
    [null, "LH002", "p_outcomes is null"],
    [[null], "LH002", "an outcome is null"],
    [[5], "LH002", "an outcome is 5"],
    [[{ ...good, id: "abc" }], "LH002", /^an outcome is /],
    [[{ ...good, id: undefined }], "LH002", /^an outcome is /],
    [[{ ...good, generation: -1 }], "LH002", /^an outcome is /],
    [[{ ...good, generation: 1.5 }], "LH002", /^an outcome is /],
    [[{ ...good, generation: undefined }], "LH002", /^an outcome is /],
    [[{ ...good, action: "done" }], "LH002", /^an outcome is /],
    [[{ ...good, action: undefined }], "LH002", /^an outcome is /],
    [[{ ...good, action: "fail" }], "LH002", /^an outcome is /],
    [[{ ...good, action: "fail", error: "text" }], "LH002", /^an outcome is /],
    [[{ ...good, permanent: "yes" }], "LH002", /^an outcome is /],
    [[{ ...good, retry_after_ms: -1 }], "LH002", /^an outcome is /],
    [[{ ...good, retry_after_ms: 0.5 }], "LH002", /^an outcome is /],
    [[{ ...good, retry_after_ms: 2_147_483_648 }], "LH002", /^an outcome is /],
    [[{ ...good, retries: 1 }], "LH003", "option retries is not known"],
    [[good, good], "LH002", `id is ${unknown} twice`],
    [[good, { ...good, generation: 2 }], "LH002", `id is ${unknown} twice`],
  ])("refuses %j as a whole, and writes nothing", async (outcomes, code, message) => {
    const id = await running();
    const first = { id, generation: 1, action: "complete" };
    const given = Array.isArray(outcomes) ? [first, ...outcomes] : outcomes;
    const { changed } = await changes(id, () =>
      expect(call("finish_many", given && json(given))).rejects.toMatchObject({
        code,
        message: typeof message === "string" ? message : expect.stringMatching(message),
        hint: expect.any(String),
      }),
    );
    expect(changed).toEqual({});
  });
});
