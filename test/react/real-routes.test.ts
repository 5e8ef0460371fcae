import "./support/page.ts";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { http } from "../../src/http/index.ts";
import { defineJob, handle } from "../../src/index.ts";
import { type Connection, createConnection, useJob, useStartJob } from "../../src/react/index.ts";
import { client, deferred } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { mountHook, unmountAll, until } from "./support/mount.ts";

const measure = defineJob("measure", { key: () => "the one" });
const wait = defineJob("wait", { startIn: "worker" });

let db: TestDatabase;
let server: ReturnType<typeof serve>;
let hold = deferred();
/** Whose page it is. */
let connection: (user: string) => Connection;

beforeAll(async () => {
  db = await openTestDatabase("pglite");
  const handlers = [
    handle(measure, async (job) => {
      await job.progress("measuring");
      await hold.promise;
      return { score: 7 };
    }),
    handle(wait, () => null),
  ];
  const leasehold = client(db.database, ...handlers);
  const authorize = (request: Request) => {
    const owner = request.headers.get("x-user");
    return owner === null ? null : { owner };
  };
  const handler = http({ leasehold, jobs: [measure, wait], authorize });
  server = serve({ fetch: (request) => handler(request), port: 0 });
  const { port } = server.address() as AddressInfo;
  connection = (user) =>
    createConnection({
      basePath: `http://127.0.0.1:${port}/api/leasehold`,
      headers: user === "" ? {} : { "x-user": user },
    });
});

beforeEach(async () => {
  hold = deferred();
  await db.reset();
});

afterEach(unmountAll);

afterAll(async () => {
  server.close();
  await db.close();
});

function mount(kind: string, user: string) {
  const own = { connection: connection(user) };
  return mountHook(() => {
    const started = useStartJob(kind, own);
    return { started, ...useJob(started.id, own) };
  }, null);
}

test("a job is started, is in its own way, and is followed to its result", async () => {
  const hook = await mount("measure", "ann");
  expect(await hook.last.started.start()).toMatchObject({ outcome: "started" });
  await until(() => hook.last.job?.progress === "measuring");
  const { id } = hook.last.started;
  expect(hook.last.job).toMatchObject({ id, notice: "running", message: "In progress." });
  const again = await mount("measure", "ann");
  expect(await again.last.started.start()).toEqual({ outcome: "in_flight", id });
  const other = await mount("measure", "bob");
  expect(await other.last.started.start()).toEqual({ outcome: "in_flight", id: null });
  hold.resolve();
  await until(() => hook.last.isSettled && again.last.isSettled);
  expect(again.last.job).toMatchObject({ id, status: "completed", result: { score: 7 } });
});

test("a start that is sent again starts nothing more", async () => {
  const { last } = await mount("wait", "ann");
  const first = await last.started.start({}, { once: "form-7" });
  expect(first).toMatchObject({ outcome: "started", isDuplicate: false });
  expect(await last.started.start({}, { once: "form-7" })).toEqual({ ...first, isDuplicate: true });
});

test("a job is cancelled", async () => {
  const hook = await mount("wait", "ann");
  await hook.last.started.start();
  await until(() => hook.last.job?.status === "queued");
  expect(await hook.last.cancel()).toEqual({ outcome: "cancelled", status: "cancelled" });
  await until(() => hook.last.isSettled);
  expect(hook.last.job).toMatchObject({ status: "cancelled", message: "Cancelled." });
  expect(await hook.last.cancel()).toEqual({ outcome: "finished", status: "cancelled" });
});

test("another's job, an unknown kind and an unknown user are refused", async () => {
  const hook = await mount("wait", "ann");
  await hook.last.started.start();
  const { id } = hook.last.started;
  const bobs = { connection: connection("bob") };
  const foreign = await mountHook(() => useJob(id, bobs), null);
  await until(() => foreign.last.error !== null);
  expect(foreign.last.error).toMatchObject({ status: 404, code: "NOT_FOUND", isFinal: true });
  expect(await foreign.last.cancel()).toEqual({ outcome: "unknown", status: null });
  const unknown = await mount("unheard_of", "ann");
  expect(await unknown.last.started.start()).toMatchObject({ error: { status: 404 } });
  const nobody = await mount("wait", "");
  expect(await nobody.last.started.start()).toMatchObject({ error: { code: "UNAUTHORIZED" } });
});
