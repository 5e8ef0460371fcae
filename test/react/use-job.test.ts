import { createElement, Fragment } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createConnection, LeaseholdProvider, useJob } from "../../src/react/index.ts";
import { mountHook, setVisibility, unmountAll, until } from "./support/mount.ts";
import { openPage } from "./support/page.ts";
import { error, type JobServer, type Reply, startServer, view } from "./support/server.ts";

let server: JobServer;
const errors = vi.spyOn(console, "error");

beforeEach(async () => {
  server = await startServer();
  server.jobs.set("a", view("a")).set("b", view("b"));
  openPage(server.origin);
});

afterEach(async () => {
  await setVisibility("visible");
  await unmountAll();
  await server.close();
  expect(errors).not.toHaveBeenCalled();
});

const quick = () => createConnection({ firstPauseMs: 1, maxPauseMs: 1 });
/** Asks once, and then only when it is told to. */
const slow = () => createConnection({ firstPauseMs: 60_000 });

/** Holds the next request until it is let go with an answer. */
function hold(): (reply: Reply) => void {
  let letGo = (_: Reply) => {};
  server.instead.push(
    new Promise((resolve) => {
      letGo = resolve;
    }),
  );
  return letGo;
}

test("a job is followed from the first answer to its result", async () => {
  const hook = await mountHook(() => useJob<{ points: number }, string>("a"), null);
  await until(() => hook.last.job !== null);
  server.jobs.set("a", view("a", { status: "running", progress: "halfway" }));
  await until(() => hook.last.job?.progress === "halfway");
  server.jobs.set("a", view("a", { status: "completed", result: { points: 7 } }));
  await until(() => hook.last.isSettled);
  expect(hook.last.job?.result?.points).toBe(7);
  expect(new Set(server.heard.map(({ method, url }) => `${method} ${url}`))).toEqual(
    new Set(["GET /api/leasehold/jobs/a"]),
  );
});

test("it sends the ETag, and an unchanged job renders nothing anew", async () => {
  const connection = quick();
  const hook = await mountHook(() => useJob("a", { connection }), null);
  await until(() => server.heard.length > 5);
  const [first, ...others] = server.heard.map(({ headers }) => headers["if-none-match"]);
  expect(first).toBeUndefined();
  expect(new Set(others)).toEqual(new Set([expect.stringContaining('W/"')]));
  expect(hook.values).toHaveLength(2);
});

test("the same answer without an ETag renders nothing anew either", async () => {
  const connection = quick();
  for (let i = 0; i < 5; i += 1) server.instead.push({ status: 200, body: view("a") });
  const hook = await mountHook(() => useJob("a", { connection }), null);
  await until(() => server.heard.length > 5);
  expect(hook.values).toHaveLength(2);
});

test("components that follow the same job share one poller", async () => {
  const connection = slow();
  const mount = () => mountHook(() => useJob("a", { connection }), null);
  const hooks = [await mount(), await mount(), await mount()];
  await until(() => hooks.every((hook) => hook.last.job !== null));
  expect(server.heard).toHaveLength(1);
  expect(new Set(hooks.map(({ last }) => last.job)).size).toBe(1);
});

test("one that comes later has the value at once, and the last one to leave ends it", async () => {
  const connection = quick();
  const [first, other] = [
    await mountHook(() => useJob("a", { connection }), null),
    await mountHook(() => useJob("a", { connection }), null),
  ];
  await until(() => first.last.job !== null);
  await first.unmount();
  const late = await mountHook(() => useJob("a", { connection }), null);
  expect(late.values[0]?.job).toBe(other.last.job);
  await other.unmount();
  const asked = server.heard.length;
  await until(() => server.heard.length > asked);
  await late.unmount();
  const before = server.heard.length;
  const again = await mountHook(() => useJob("a", { connection }), null);
  expect(again.values[0]?.job).toBeNull();
  await until(() => server.heard.length > before);
});

test("another id shows nothing of the one before, and drops its request", async () => {
  const letGo = hold();
  const hook = await mountHook((id) => useJob(id), "a" as string);
  await until(() => server.heard.length === 1);
  await hook.render("b");
  await until(() => hook.last.job?.id === "b");
  expect(server.aborted).toBe(1);
  letGo({ status: 200, body: view("a") });
  const from = hook.values.length;
  await hook.render("a");
  expect(hook.values.slice(from).map(({ job }) => job)).not.toContainEqual(view("b"));
  expect(hook.values[from]).toMatchObject({ job: null, isLoading: true });
  await until(() => hook.last.job?.id === "a");
});

test.each([null, undefined, ""])("without an id (%j) nothing is asked", async (id) => {
  const hook = await mountHook(() => useJob(id), null);
  expect(hook.last).toMatchObject({ job: null, error: null, isLoading: false, isPolling: false });
  await hook.last.refresh();
  expect(await hook.last.cancel()).toEqual({ outcome: "unknown", status: null });
  const connection = slow();
  const other = await mountHook(() => useJob("a", { connection }), null);
  await until(() => other.last.job !== null);
  expect(server.heard.map(({ url }) => url)).toEqual(["/api/leasehold/jobs/a"]);
});

test("the end of the component drops the request, and renders nothing", async () => {
  hold();
  const hook = await mountHook(() => useJob("a"), null);
  await until(() => server.heard.length === 1);
  const renders = hook.values.length;
  await hook.unmount();
  await until(() => server.aborted === 1);
  expect(hook.values).toHaveLength(renders);
});

test("StrictMode's second mount costs no second request", async () => {
  const connection = slow();
  const hook = await mountHook(() => useJob("a", { connection }), null, { strict: true });
  await until(() => hook.last.job !== null);
  expect(server.heard).toHaveLength(1);
  expect(server.aborted).toBe(0);
  server.jobs.set("a", view("a", { status: "completed" }));
  await hook.last.refresh();
  await until(() => hook.last.isSettled);
});

test("a component that takes another's place goes on with its value", async () => {
  const connection = quick();
  let key = "one";
  const hook = await mountHook(() => useJob("a", { connection }), null, {
    wrap: (children) => createElement(Fragment, { key }, children),
  });
  await until(() => hook.last.job !== null);
  const from = hook.values.length;
  key = "two";
  await hook.render(null);
  expect(hook.values.length).toBeGreaterThan(from);
  expect(hook.values.slice(from).every(({ job }) => job !== null)).toBe(true);
  expect(server.aborted).toBe(0);
});

test("a connection that breaks is an error beside the last value", async () => {
  const connection = quick();
  const hook = await mountHook(() => useJob("a", { connection }), null);
  await until(() => hook.last.job !== null);
  server.instead.push("hang up");
  await until(() => hook.values.some((value) => value.error !== null));
  expect(hook.values.find((value) => value.error)).toMatchObject({
    error: { code: "NETWORK" },
    job: { id: "a" },
    isPolling: true,
  });
  await until(() => hook.last.error === null);
});

test("an error is told in the server's words", async () => {
  const hook = await mountHook(() => useJob("nobody's"), null);
  await until(() => hook.last.error !== null);
  expect(server.heard[0]?.url).toBe("/api/leasehold/jobs/nobody's");
  expect(hook.last.error).toMatchObject({ code: "NOT_FOUND", message: "NOT_FOUND in words" });
  expect(hook.last).toMatchObject({ job: null, isLoading: false, isPolling: false });
});

test("cancel asks for it and shows what came of it, before the pause is over", async () => {
  const connection = slow();
  const hook = await mountHook(() => useJob("a", { connection }), null);
  await until(() => hook.last.job !== null);
  const answer = await hook.last.cancel();
  expect(answer).toEqual({ outcome: "cancelled", status: "cancelled" });
  await until(() => hook.last.isSettled);
  expect(server.heard.map(({ method, url }) => `${method} ${url}`)).toEqual([
    "GET /api/leasehold/jobs/a",
    "POST /api/leasehold/jobs/a/cancel",
    "GET /api/leasehold/jobs/a",
  ]);
});

test("a cancel that fails says why", async () => {
  const hook = await mountHook(() => useJob("a"), null);
  await until(() => hook.last.job !== null);
  server.instead.push(error(403, "FORBIDDEN"));
  expect(await hook.last.cancel()).toMatchObject({ outcome: "error", error: { status: 403 } });
  server.instead.push(error(404, "NOT_FOUND"));
  expect(await hook.last.cancel()).toEqual({ outcome: "unknown", status: null });
});

test("refresh asks for a settled job, and goes on where it was put back", async () => {
  server.jobs.set("a", view("a", { status: "failed" }));
  const hook = await mountHook(() => useJob("a"), null);
  await until(() => hook.last.isSettled);
  server.jobs.set("a", view("a"));
  await hook.last.refresh();
  await until(() => hook.last.isPolling);
  server.jobs.set("a", view("a", { status: "completed" }));
  await until(() => hook.last.job?.status === "completed");
});

test("refresh drops a request under way, and resolves with the newer answer", async () => {
  const letGo = hold();
  const hook = await mountHook(() => useJob("a"), null);
  await until(() => server.heard.length === 1);
  server.jobs.set("a", view("a", { status: "completed" }));
  await hook.last.refresh();
  await until(() => hook.last.job?.status === "completed");
  letGo({ status: 200, body: view("a") });
  await until(() => server.aborted === 1);
  expect(hook.last.job?.status).toBe("completed");
});

test("a provider says where the routes are and what to send along", async () => {
  let token = "one";
  const connection = createConnection({
    basePath: `${server.origin}/api/leasehold/`,
    headers: async () => ({ authorization: `Bearer ${token}` }),
    firstPauseMs: 1,
  });
  const hook = await mountHook(() => useJob("a"), null, {
    wrap: (children) => createElement(LeaseholdProvider, { connection }, children),
  });
  await until(() => hook.last.job !== null);
  token = "two";
  await until(() => server.heard.at(-1)?.headers.authorization === "Bearer two");
  expect(server.heard[0]?.headers.authorization).toBe("Bearer one");
  expect(server.heard[0]?.url).toBe("/api/leasehold/jobs/a");
});
