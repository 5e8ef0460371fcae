import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { defineJob } from "../../src/index.ts";
import { client, rowOf, until } from "../drain/support/client.ts";
import { startChild } from "../drain/support/parent.ts";
import { idOf, workplace } from "./support/workers.ts";

const mail = defineJob("mail");
const job = defineJob("job");
const file = new URL("support/child.ts", import.meta.url);

const place = workplace("postgres");
const start = (scenario: string, argument = "") =>
  startChild(scenario, place.db.url, argument, file);
const enqueued = async (payloads: unknown[], kind = mail) =>
  (
    await client(place.db.database).enqueueMany(payloads.map((payload) => ({ job: kind, payload })))
  ).map(idOf);
const rowsOf = (ids: string[]) => Promise.all(ids.map((id) => rowOf(place.db, id)));
const workers = () => place.db.value("select count(*)::int from leasehold.workers");

describe("a process whose worker has stopped", () => {
  test("ends by itself, with nothing left of it", async () => {
    await enqueued(["one"]);
    const child = start("ends");
    expect(await child.told("report")).toMatchObject({ reason: "stop", completed: 1 });
    const told = performance.now();
    expect(child.messages[0]).toMatchObject({ warnings: [], signals: 0 });
    expect(await child.ended).toMatchObject({ code: 0, signal: null, stderr: "" });
    expect(performance.now() - told).toBeLessThan(15_000);
    expect(await workers()).toBe(0);
  });

  test("right after it was started, twenty times, ends as well (S30)", async () => {
    const child = start("restarts");
    await child.told("restarted");
    expect(await child.ended).toMatchObject({ code: 0, signal: null, stderr: "" });
    expect(await workers()).toBe(0);
  });
});

describe("SIGTERM while a process works (S29)", () => {
  test("ends it after the grace, its jobs finished or given back", async () => {
    const ids = await enqueued(["obeys", "ignores", "ends", "waits"]);
    const child = start("signalled");
    await until(() => child.messages.length === 3, "three handlers");
    child.process.kill("SIGTERM");
    expect(await child.ended).toMatchObject({ code: null, signal: "SIGTERM" });
    expect(await rowsOf(ids)).toMatchObject([
      { status: "queued", attempts: 0, releases: 1, last_error_code: "SHUTDOWN" },
      { status: "queued", attempts: 0, releases: 1, last_error_code: "SHUTDOWN" },
      { status: "completed", result: "ended" },
      expect.objectContaining({}),
    ]);
    expect(await workers()).toBe(0);
  });

  test("leaves the end to the application where that listens", async () => {
    const ids = await enqueued(["ends"]);
    const child = start("signalled", "listens");
    await child.told("running");
    child.process.kill("SIGTERM");
    await child.told("heard");
    expect(await child.told("report")).toMatchObject({ reason: "signal", completed: 1 });
    expect(await child.ended).toMatchObject({ code: 0, signal: null });
    expect(await rowsOf(ids)).toMatchObject([{ status: "completed" }]);
  });

  test("a second time ends it at once; the leases bring its jobs back", async () => {
    const [id = ""] = await enqueued(["ignores"]);
    const child = start("signalled", "patient");
    await child.told("running");
    let ended = false;
    void child.ended.then(() => {
      ended = true;
    });
    // Two signals in a moment count as one, as npm sends them.
    await until(() => {
      child.process.kill("SIGTERM");
      return ended;
    }, "the end");
    expect(await child.ended).toMatchObject({ code: null, signal: "SIGTERM" });
    expect(await rowOf(place.db, id)).toMatchObject({ status: "running", attempts: 1 });
  });
});

test("an event loop that is blocked beyond the lease loses the job, and goes on (S04)", async ({
  onTestFinished,
}) => {
  const folder = mkdtempSync(join(tmpdir(), "leasehold-block-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const go = join(folder, "go");
  const [blocked = "", next = ""] = await enqueued(["blocks", "next"], job);
  const child = start("block", go);
  await child.told("blocking");
  const claim = { p_kinds: ["job"], p_lease_ms: 60_000, p_except: [next] };
  await until(
    async () => ((await place.db.database.call("claim", claim)) as unknown[]).length > 0,
    "the end of the lease",
  );
  const done = { p_id: blocked, p_generation: 2, p_result: 2 };
  expect(await place.db.database.call("complete", done)).toBe(true);
  writeFileSync(go, "");
  expect(await child.told("lost")).toMatchObject({ id: blocked, generation: 1 });
  expect(await child.told("report")).toMatchObject({ lost: 1, completed: 1 });
  expect(await child.ended).toMatchObject({ code: 0, stderr: "" });
  expect(await rowOf(place.db, blocked)).toMatchObject({ result: 2, generation: 2, attempts: 2 });
});

test("twenty-five thousand jobs and the looks for them leave nothing behind (S33)", async () => {
  const child = start("many");
  const sizes: number[] = await child.told("sizes");
  const growth = (sizes.at(-1) ?? 0) - (sizes[0] ?? 0);
  expect(growth, `sizes ${sizes}`).toBeLessThan(2_000_000);
  expect(child.messages[0]).toMatchObject({ warnings: [], timers: 0, signalListeners: 0 });
  expect(await child.ended).toMatchObject({ code: 0, stderr: "" });
});
