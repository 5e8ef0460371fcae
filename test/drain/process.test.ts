import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { ageAll } from "../support/ageing.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, counts, eventsOf, rowOf, until } from "./support/client.ts";
import { startChild } from "./support/parent.ts";

const mail = defineJob("mail");

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

async function enqueued(payloads: unknown[], kind = mail): Promise<string[]> {
  const answers = await client(db.database).enqueueMany(
    payloads.map((payload) => ({ job: kind, payload })),
  );
  return answers.map((answer) => ("id" in answer ? answer.id : ""));
}

describe("SIGTERM while a process drains (S29)", () => {
  test("lets the job in hand finish, claims nothing more, and ends the process as ever", async () => {
    const [first = "", second = ""] = await enqueued(["first", "second"]);
    const child = startChild("sigterm", db.url);
    expect(await child.told("running")).toBe("first");
    child.process.kill("SIGTERM");
    expect(await child.ended).toMatchObject({ code: null, signal: "SIGTERM" });
    expect(await rowOf(db, first)).toMatchObject({ status: "completed", result: "finished" });
    expect(await rowOf(db, second)).toMatchObject({ status: "queued", attempts: 0 });
  });

  // One that listens once is gone when the drain ends, and goes on with the application's end.
  test.each(["listens", "listens once"])(
    "leaves the end to an application that %s",
    async (how) => {
      const [first = "", second = ""] = await enqueued(["first", "second"]);
      const child = startChild("sigterm", db.url, how);
      await child.told("running");
      child.process.kill("SIGTERM");
      await child.told("heard");
      expect(await child.told("reports")).toMatchObject([{ reason: "sigterm", completed: 1 }]);
      expect(await child.ended).toMatchObject({ code: 0, signal: null });
      expect(await rowOf(db, first)).toMatchObject({ status: "completed" });
      expect(await rowOf(db, second)).toMatchObject({ status: "queued", attempts: 0 });
    },
  );

  test("waits for the jobs in hand of all drains that overlap", async () => {
    const ids = await enqueued(["first", "second", "third"]);
    const child = startChild("sigterm", db.url, "twice");
    await until(() => child.messages.length === 2, "both handlers");
    child.process.kill("SIGTERM");
    expect(await child.ended).toMatchObject({ code: null, signal: "SIGTERM" });
    const rows = await Promise.all(ids.map((id) => rowOf(db, id)));
    expect(rows.map(({ status }) => status)).toEqual(["completed", "completed", "queued"]);
  });

  test("sent by SIGKILL instead leaves the job to its lease", async () => {
    const [id = ""] = await enqueued(["first"]);
    const child = startChild("sigterm", db.url);
    await child.told("running");
    child.process.kill("SIGKILL");
    await child.ended;
    expect(await rowOf(db, id)).toMatchObject({ status: "running", attempts: 1 });
    await ageAll(db, "jobs", 301_000);
    const next = client(
      db.database,
      handle(mail, () => "second"),
    );
    expect(await next.drain()).toMatchObject({ completed: 1 });
    expect(await rowOf(db, id)).toMatchObject({ generation: 2, attempts: 2, result: "second" });
  });
});

describe("an event loop that is blocked for longer than the lease (S04)", () => {
  test("loses the job to another worker, is told so, and goes on to the next", async ({
    onTestFinished,
  }) => {
    const folder = mkdtempSync(join(tmpdir(), "leasehold-block-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const go = join(folder, "go");
    const job = defineJob("job");
    const [blocked = "", next = ""] = await enqueued(["blocks", "next"], job);
    const child = startChild("block", db.url, go);
    await child.told("blocking");
    // The next job is not the point here.
    const claim = async () =>
      db.database.call("claim", { p_kinds: ["job"], p_lease_ms: 60_000, p_except: [next] });
    const [taken] = (await until(async () => {
      const rows = (await claim()) as { id: string; generation: number }[];
      return rows.length > 0 && rows;
    }, "the end of the lease")) as { id: string; generation: number }[];
    expect(taken).toMatchObject({ id: blocked, generation: 2 });
    const done = { p_id: blocked, p_generation: 2, p_result: 2 };
    expect(await db.database.call("complete", done)).toBe(true);
    writeFileSync(go, "");
    expect(await child.told("lost")).toMatchObject({ id: blocked, generation: 1 });
    expect(await child.told("report")).toMatchObject({
      reason: "empty",
      lost: 1,
      completed: 1,
      jobs: [
        { id: blocked, outcome: "lost" },
        { id: next, outcome: "completed" },
      ],
    });
    expect(await child.ended).toMatchObject({ code: 0, stderr: "" });
    expect(child.messages.filter((message) => "lost" in message)).toHaveLength(1);
    expect(await rowOf(db, blocked)).toMatchObject({
      status: "completed",
      result: 2,
      generation: 2,
      attempts: 2,
    });
    const events = (await eventsOf(db, blocked)).map(({ event }) => event);
    expect(events.filter((event) => event === "reaped")).toHaveLength(1);
    expect(events.filter((event) => event === "refused").length).toBeGreaterThan(0);
  });
});

describe("a promise that a handler forgot to await and that rejects (S31)", () => {
  test("ends a plain process, as Node does; the lease brings its job back", async () => {
    const [id = ""] = await enqueued(["forgets", "next"]);
    const child = startChild("forgotten", db.url);
    const end = await child.ended;
    expect(end).toMatchObject({ code: 1 });
    expect(end.stderr).toContain("nobody awaits me");
    expect(await counts(db)).toEqual({ running: 1, queued: 1 });
    await ageAll(db, "jobs", 301_000);
    const next = client(
      db.database,
      handle(mail, () => "well"),
    );
    expect(await next.drain()).toMatchObject({ completed: 2 });
    expect(await rowOf(db, id)).toMatchObject({ attempts: 2 });
  });

  test("changes nothing in a process that listens for such", async () => {
    await enqueued(["forgets", "next"]);
    const child = startChild("forgotten", db.url, "listens");
    expect(await child.told("survived")).toBe(true);
    expect(await child.told("report")).toMatchObject({ completed: 2 });
    expect(await child.ended).toMatchObject({ code: 0 });
  });
});

describe("a process that has drained two thousand jobs (S33)", () => {
  test("has no listener left over and no timer that keeps it alive", async () => {
    const child = startChild("many", db.url);
    const completed = await child.told("completed");
    const told = performance.now();
    const [message] = child.messages;
    expect(completed).toBe(2_000);
    expect(message).toMatchObject({ during: [1, 1], after: [0, 0], warnings: [] });
    expect(await child.ended).toMatchObject({ code: 0, stderr: "" });
    expect(performance.now() - told).toBeLessThan(5_000);
    expect(await counts(db)).toEqual({ completed: 2_000 });
  });
});
