import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type Ended, leasehold } from "./binary.ts";

let db: TestDatabase;
const nobody = "01234567-89ab-7cde-8123-456789abcdef";

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
afterAll(() => db.close());
beforeEach(() => db.reset());

const run = (...args: string[]): Promise<Ended> =>
  leasehold(args, { env: { DATABASE_URL: db.url } });

/** The one JSON value on stdout. */
async function json(...args: string[]): Promise<{ code: number | null; value: unknown }> {
  const { code, stdout } = await run(...args, "--json");
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return { code, value: JSON.parse(stdout) };
}

async function enqueue(kind: string, options: Record<string, unknown> = {}): Promise<string> {
  const answer = await db.database.call("enqueue", { p_kind: kind, p_options: options });
  return (answer as { id: string }).id;
}

const beat = (state: object) =>
  db.database.call("worker_beat", {
    p_id: "0198a000-0000-7000-8000-000000000001",
    p_state: { name: "host:7", kinds: ["mail", "fetch"], concurrency: 20, ...state },
  });

describe("pause and resume", () => {
  const paused = async () =>
    (await db.query("select kind from leasehold.kinds where paused_at is not null order by 1")).map(
      ({ kind }) => kind,
    );

  it("say what they changed, and tell which kinds were so already", async () => {
    expect(await run("pause", "a", "b", "a")).toEqual({
      ...{ code: 0, stdout: "a paused\nb paused\n", stderr: "" },
    });
    expect(await run("pause", "b", "c")).toEqual({
      ...{ code: 0, stdout: "c paused\n", stderr: "leasehold: b was paused already.\n" },
    });
    expect(await paused()).toEqual(["a", "b", "c"]);
    const end = await run("resume", "a", "never");
    expect(end).toMatchObject({ code: 0, stdout: "a resumed\n" });
    expect(end.stderr).toMatch(/^leasehold: never was not paused\./);
    expect(await paused()).toEqual(["b", "c"]);
  });

  it("answer programs for each kind, in their order", async () => {
    await run("pause", "b");
    expect(await json("pause", "c", "b")).toEqual({
      code: 0,
      value: [
        { kind: "c", changed: true },
        { kind: "b", changed: false },
      ],
    });
    expect(await json("resume", "x")).toEqual({
      code: 0,
      value: [{ kind: "x", changed: false }],
    });
  });

  it("refuse a name that no kind can have, and then change nothing", async () => {
    for (const bad of [" ", "leasehold.reconcile", "x".repeat(101)]) {
      expect(await run("pause", "a", bad)).toMatchObject({ code: 2, stdout: "" });
    }
    expect(await run("pause")).toMatchObject({ code: 2, stdout: "" });
    expect(await paused()).toEqual([]);
  });
});

describe("run-now", () => {
  it("makes delayed jobs due, names those that it can't, and then ends with 3", async () => {
    const delayed = await enqueue("k", { delay_ms: 3_600_000 });
    expect(await run("run-now", delayed)).toEqual({
      ...{ code: 0, stdout: `${delayed} due now\n`, stderr: "" },
    });
    expect(await db.database.call("has_due_work", {})).toBe(true);
    const [running] = (await db.database.call("claim", { p_kinds: ["k"] })) as { id: string }[];
    expect(running?.id).toBe(delayed);
    const end = await run("run-now", delayed, nobody.toUpperCase(), nobody);
    expect(end).toMatchObject({ code: 3, stdout: "" });
    expect(end.stderr).toBe(
      `leasehold: ${delayed}: not due: only a queued job can be. See \`leasehold status\`.\n` +
        `leasehold: ${nobody}: not due: there is no such job.\n`,
    );
  });
});

describe("remove", () => {
  it("deletes finished jobs, names those that it can't, and then ends with 3", async () => {
    const [done, queued] = [await enqueue("k"), await enqueue("k")];
    await db.database.call("cancel", { p_id: done });
    const end = await run("remove", queued, done, nobody);
    expect(end).toMatchObject({ code: 3, stdout: `${done} removed\n` });
    expect(end.stderr).toBe(
      `leasehold: ${queued}: not removed: it is unfinished. Cancel it first.\n` +
        `leasehold: ${nobody}: not removed: there is no such job.\n`,
    );
    expect(await db.query("select id from leasehold.jobs")).toEqual([{ id: queued }]);
  });

  it("answers programs for each id, in their order", async () => {
    const [done, queued] = [await enqueue("k"), await enqueue("k")];
    await db.database.call("cancel", { p_id: done });
    expect(await json("remove", nobody, done, queued)).toEqual({
      code: 3,
      value: [
        { outcome: "unknown", id: nobody, status: null },
        { outcome: "removed", id: done, status: "cancelled" },
        { outcome: "wrong_status", id: queued, status: "queued" },
      ],
    });
  });

  it("refuses what is no id, before anything is deleted", async () => {
    const done = await enqueue("k");
    await db.database.call("cancel", { p_id: done });
    expect(await run("remove", done, "abc")).toMatchObject({ code: 2, stdout: "" });
    expect(await db.value("select count(*) from leasehold.jobs")).toBe(1);
  });
});

describe("kinds", () => {
  it("shows pauses, workers and defaults to people, and SQL's answer to programs", async () => {
    expect(await run("kinds")).toEqual({ code: 0, stdout: "", stderr: "No kinds.\n" });
    await db.database.call("define_kind", {
      p_kind: "fetch",
      p_defaults: {
        ...{ max_attempts: 3, backoff_ms: [60_000, 300_000], lease_ms: 90_000 },
        ...{ timeout_ms: 600_000, retain_ms: 2_592_000_000 },
      },
    });
    await db.database.call("pause", { p_kind: "odd" });
    await beat({});
    const { code, stdout, stderr } = await run("kinds");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [titles, ...rows] = stdout.trimEnd().split("\n");
    expect(titles).toBe(
      "WORKERS  LEASE   TIMEOUT  ATTEMPTS  BACKOFF  RETAIN  PAUSED SINCE          KIND",
    );
    expect(rows).toEqual([
      "      1  1m 30s  10m             3  1m, 5m   30d                           fetch",
      "      1                                                                    mail",
      expect.stringMatching(/^ {6}0 {46}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}odd$/),
    ]);
    const { value } = await json("kinds");
    const { at: _, ...rest } = (await db.database.call("kinds", {})) as { at: string };
    expect(value).toEqual({ at: expect.any(String), ...rest });
  });
});

describe("workers", () => {
  it("shows who is alive to people, and SQL's answer to programs", async () => {
    expect(await run("workers")).toEqual({ code: 0, stdout: "", stderr: "No workers.\n" });
    await beat({ idle: true });
    const { code, stdout, stderr } = await run("workers");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [titles, row] = stdout.split("\n");
    expect(titles).toMatch(/^SINCE +RUNNING +IDLE SINCE +HEARS BY +LAST SEEN +NAME +KINDS$/);
    expect(row).toMatch(
      /^\d{4}-\S+ \S+Z {2}0\/20 {5}\d{4}-\S+ \S+Z {2}polling .* host:7 {2}fetch, mail$/,
    );
    expect(await json("workers")).toEqual({
      code: 0,
      value: { at: expect.any(String), workers: [expect.objectContaining({ name: "host:7" })] },
    });
  });
});
