import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const optionNames =
  "key, owner, priority, run_after, delay_ms, start_within_ms, max_attempts, on_conflict, once, once_for_ms, cost, account, external, trace_context";

describe.each(backends)("the arguments of enqueue on %s", (backend) => {
  const { call, count, session } = useDatabase(backend);

  test.each([
    ['{"key": ""}', "key is ''"],
    ['{"key": "   "}', "key is '   '"],
    ['{"key": "\\u00a0\\u3000"}', "key is '\u00a0\u3000'"],
    ['{"key": 0}', "key is 0"],
    ['{"key": {"a": 1}}', 'key is {"a": 1}'],
    ['{"key": "a\\u0007"}', "key is 'a\u0007'"],
    ['{"key": "a\\u0085"}', "key is 'a\u0085'"],
    ['{"owner": ""}', "owner is ''"],
    ['{"owner": "a\\tb"}', "owner is 'a\tb'"],
    ['{"owner": 7}', "owner is 7"],
    ['{"once": "\\n"}', "once is '\n'"],
    ['{"once": true}', "once is true"],
    ['{"priority": 32768}', "priority is 32768"],
    ['{"priority": -32769}', "priority is -32769"],
    ['{"priority": 0.5}', "priority is 0.5"],
    ['{"priority": "1"}', 'priority is "1"'],
    ['{"priority": null}', "priority is null"],
    ['{"priority": 1e300}', /^priority is 10000/],
    ['{"delay_ms": -1}', "delay_ms is -1"],
    ['{"delay_ms": 1e30}', /^delay_ms is 10000/],
    ['{"delay_ms": "5"}', 'delay_ms is "5"'],
    ['{"start_within_ms": 0}', "start_within_ms is 0"],
    ['{"max_attempts": 0}', "max_attempts is 0"],
    ['{"max_attempts": -1}', "max_attempts is -1"],
    ['{"max_attempts": 1.5}', "max_attempts is 1.5"],
    ['{"max_attempts": null}', "max_attempts is null"],
    ['{"max_attempts": 32768}', "max_attempts is 32768"],
    ['{"key": "a", "on_conflict": "ignore"}', 'on_conflict is "ignore"'],
    ['{"key": "a", "on_conflict": 1}', "on_conflict is 1"],
    ['{"on_conflict": "replace"}', "on_conflict is replace"],
    ['{"on_conflict": "rerun", "key": null}', "on_conflict is rerun"],
    ['{"once_for_ms": 5}', "once_for_ms is 5"],
    ['{"once": "a", "once_for_ms": 0}', "once_for_ms is 0"],
    ['{"once": "a", "once_for_ms": "soon"}', 'once_for_ms is "soon"'],
    ['{"once": "a", "once_for_ms": [1]}', "once_for_ms is [1]"],
    ['{"run_after": "2030-01-31T12:00:00"}', 'run_after is "2030-01-31T12:00:00"'],
    ['{"run_after": "tomorrow"}', 'run_after is "tomorrow"'],
    ['{"run_after": "infinity"}', 'run_after is "infinity"'],
    ['{"run_after": "2030-02-30T00:00:00Z"}', 'run_after is "2030-02-30T00:00:00Z"'],
    ['{"run_after": "2030-01-01T25:00:00Z"}', 'run_after is "2030-01-01T25:00:00Z"'],
    ['{"run_after": "0000-01-01T00:00:00Z"}', 'run_after is "0000-01-01T00:00:00Z"'],
    ['{"run_after": "2030-01-01T00:00:00+99"}', 'run_after is "2030-01-01T00:00:00+99"'],
    ['{"run_after": 1900000000}', "run_after is 1900000000"],
    ['{"run_after": null}', "run_after is null"],
    ['{"run_after": "2030-01-31T12:00:00Z", "delay_ms": 5}', "delay_ms is 5"],
    ["[]", "p_options is []"],
    ["null", "p_options is null"],
    ['"key"', 'p_options is "key"'],
    [null, "p_options is null"],
  ])("refuses the options %s and writes nothing (S16, S21)", async (options, message) => {
    await expect(call("enqueue", "k", "{}", options)).rejects.toMatchObject({
      code: "LH002",
      message: typeof message === "string" ? message : expect.stringMatching(message),
      hint: expect.stringMatching(/^Give /),
    });
    expect([await count(), await count("once")]).toEqual([0, 0]);
  });

  test.each(["keys", "Key", "cost ", "payload", ""])(
    "does not know an option %j",
    async (option) => {
      await expect(call("enqueue", "k", "{}", { [option]: 1 })).rejects.toMatchObject({
        code: "LH003",
        message: expect.stringMatching(/^option .* is not known$/),
        hint: `Known here: ${optionNames}.`,
      });
      expect(await count()).toBe(0);
    },
  );

  test.each(["key", "owner", "once"])("%s may have 500 bytes, and not one more", async (name) => {
    const answer = await call("enqueue", "k", "{}", { [name]: "x".repeat(500) });
    expect(answer).toMatchObject({ outcome: "created" });
    for (const long of ["x".repeat(501), "ü".repeat(251)]) {
      await expect(call("enqueue", "k", "{}", { [name]: long })).rejects.toMatchObject({
        code: "LH002",
        message: `${name} is '${long.slice(0, 76)}...`,
        hint: "Give text of 1 to 500 bytes that is not blank and has no control characters.",
      });
    }
  });

  test.each([null, "", "  ", "\u2003", "a\u0000b".replace("\u0000", "\u0001"), "x".repeat(101)])(
    "refuses %j as a kind (S16)",
    async (kind) => {
      await expect(call("enqueue", kind)).rejects.toMatchObject({
        code: "LH002",
        message: expect.stringMatching(/^kind is /),
      });
      expect(await count()).toBe(0);
    },
  );

  test("a kind may have 100 bytes and any letters", async () => {
    for (const kind of ["x".repeat(100), "a/b c?d#e%25", "日本語", "leasehold", "Leasehold.x"]) {
      expect(await call("enqueue", kind)).toMatchObject({ outcome: "created" });
    }
  });

  test("kinds that begin with leasehold. are the library's own", async () => {
    await expect(call("enqueue", "leasehold.reconcile")).rejects.toMatchObject({
      code: "LH002",
      message: "kind is 'leasehold.reconcile'",
      hint: expect.stringContaining('does not begin with "leasehold."'),
    });
  });

  test("arguments may be named", async () => {
    await session(async ({ value }) => {
      const answer = await value(
        `select leasehold.enqueue(p_kind => 'k', p_options => '{"key": "a"}', p_payload => '5')`,
      );
      expect(answer).toMatchObject({ outcome: "created" });
      expect(await value("select payload from leasehold.jobs")).toBe(5);
    });
  });
});
