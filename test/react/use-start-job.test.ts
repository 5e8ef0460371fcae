import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useJob, useStartJob } from "../../src/react/index.ts";
import { mountHook, unmountAll, until } from "./support/mount.ts";
import { openPage } from "./support/page.ts";
import { error, type JobServer, type Reply, startServer, view } from "./support/server.ts";

let server: JobServer;
const errors = vi.spyOn(console, "error");
const assess = { address: "1 Main Street" };

beforeEach(async () => {
  server = await startServer();
  openPage(server.origin);
});

afterEach(async () => {
  await unmountAll();
  await server.close();
  expect(errors).not.toHaveBeenCalled();
});

const mount = (kind = "assess") => mountHook((given: string) => useStartJob(given), kind);

test("a start posts the payload and answers the job's id", async () => {
  const hook = await mount();
  expect(hook.last).toMatchObject({ isStarting: false, answer: null, id: null, error: null });
  const starting = hook.last.start(assess);
  await until(() => hook.last.isStarting);
  expect(await starting).toEqual({ outcome: "started", id: "assess-1", isDuplicate: false });
  await until(() => hook.last.id === "assess-1");
  expect(hook.last.isStarting).toBe(false);
  expect(server.heard).toMatchObject([
    { method: "POST", url: "/api/leasehold/jobs/assess", body: JSON.stringify(assess) },
  ]);
  expect(server.heard[0]?.headers["content-type"]).toBe("application/json");
});

test("a start without a payload sends an empty object", async () => {
  const hook = await mount();
  await hook.last.start();
  expect(server.heard[0]?.body).toBe("{}");
});

test("a start with a name sends it as Idempotency-Key", async () => {
  const hook = await mount();
  await hook.last.start(assess);
  await hook.last.start(assess, { once: "form-7" });
  const keys = server.heard.map(({ headers }) => headers["idempotency-key"]);
  expect(keys).toEqual([undefined, "form-7"]);
});

test("what was started is followed", async () => {
  const hook = await mountHook(() => {
    const assessment = useStartJob("assess");
    return { assessment, ...useJob(assessment.id) };
  }, null);
  expect(hook.last.isLoading).toBe(false);
  await hook.last.assessment.start(assess);
  await until(() => hook.last.job?.id === "assess-1");
  server.jobs.set("assess-1", view("assess-1", { status: "completed" }));
  await until(() => hook.last.isSettled);
});

test("a second start joins the one under way", async () => {
  const hook = await mount();
  const { start } = hook.last;
  const [one, two] = await Promise.all([start(assess), start({ address: "elsewhere" })]);
  expect(two).toBe(one);
  expect(server.heard).toHaveLength(1);
  await hook.last.start(assess);
  expect(server.heard).toHaveLength(2);
});

test("a start that follows one does not show the answer before", async () => {
  const hook = await mount();
  await hook.last.start(assess);
  await until(() => hook.last.id !== null);
  const from = hook.values.length;
  server.instead.push({
    status: 402,
    body: { error: { code: "INSUFFICIENT_CREDITS", message: "" } },
  });
  await hook.last.start(assess);
  await until(() => hook.last.answer?.outcome === "insufficient");
  expect(hook.values.slice(from).map(({ id }) => id)).not.toContain("assess-1");
});

test.each<[string, Reply, object, string | null]>([
  [
    "the request was known already",
    { status: 200, body: { id: "first", statusUrl: "/x" } },
    { outcome: "started", id: "first", isDuplicate: true },
    "first",
  ],
  [
    "the caller's own job is in the way",
    error(409, "JOB_IN_FLIGHT", { id: "mine", statusUrl: "/x" }),
    { outcome: "in_flight", id: "mine" },
    "mine",
  ],
  [
    "somebody else's job is in the way",
    error(409, "JOB_IN_FLIGHT"),
    { outcome: "in_flight", id: null },
    null,
  ],
  ["there are not enough credits", error(402, "INSUFFICIENT"), { outcome: "insufficient" }, null],
])("where %s", async (_, reply, answer, id) => {
  const hook = await mount();
  server.instead.push(reply);
  expect(await hook.last.start(assess)).toEqual(answer);
  await until(() => hook.last.answer !== null);
  expect(hook.last).toMatchObject({ answer, id, error: null, isStarting: false });
});

test.each([400, 401, 403, 404, 409, 413, 429, 500])("a %i is an error", async (status) => {
  const hook = await mount();
  server.instead.push(error(status, "CODE"));
  const answer = await hook.last.start(assess);
  expect(answer).toMatchObject({ outcome: "error", error: { status, code: "CODE" } });
  await until(() => hook.last.error !== null);
  expect(hook.last).toMatchObject({ id: null, error: { message: "CODE in words" } });
});

test("no answer is an error, and the next start is free", async () => {
  const hook = await mount();
  server.instead.push("hang up");
  const answer = await hook.last.start(assess);
  expect(answer).toMatchObject({ outcome: "error", error: { code: "NETWORK", status: null } });
  expect(await hook.last.start(assess)).toMatchObject({ outcome: "started" });
});

test("an answer that names no job is an error", async () => {
  const hook = await mount();
  server.instead.push({ status: 202, body: {} });
  expect(await hook.last.start(assess)).toMatchObject({ error: { code: "BAD_ANSWER" } });
});

test("a payload that is no JSON is an error, and is not sent", async () => {
  const hook = await mount();
  const event: { self?: unknown } = {};
  event.self = event;
  for (const payload of [event, 7n, () => 7]) {
    expect(await hook.last.start(payload)).toMatchObject({
      outcome: "error",
      error: { code: "BAD_PAYLOAD", isFinal: true },
    });
  }
  expect(server.heard).toEqual([]);
});

test("reset forgets the answer, but not a start under way", async () => {
  const hook = await mount();
  const starting = hook.last.start(assess);
  await until(() => hook.last.isStarting);
  hook.last.reset();
  expect(await hook.last.start(assess)).toBe(await starting);
  expect(server.heard).toHaveLength(1);
  await until(() => hook.last.id !== null);
  hook.last.reset();
  await until(() => hook.last.id === null);
});

test("a start outlives its component: the job is there, and its id is not lost", async () => {
  const hook = await mount();
  let letGo = (_: Reply) => {};
  const held = new Promise<Reply>((resolve) => {
    letGo = resolve;
  });
  server.instead.push(held);
  const starting = hook.last.start(assess);
  await until(() => server.heard.length === 1);
  const renders = hook.values.length;
  await hook.unmount();
  letGo({ status: 202, body: { id: "late", statusUrl: "/x" } });
  expect(await starting).toMatchObject({ outcome: "started", id: "late" });
  expect(hook.values).toHaveLength(renders);
});

test("another kind begins anew", async () => {
  const hook = await mount("assess");
  await hook.last.start(assess);
  await until(() => hook.last.id !== null);
  await hook.render("measure");
  expect(hook.last).toMatchObject({ id: null, answer: null });
  expect(await hook.last.start(assess)).toMatchObject({ id: "measure-2" });
});

test("StrictMode changes nothing", async () => {
  const hook = await mountHook(() => useStartJob("assess"), null, { strict: true });
  await hook.last.start(assess);
  await until(() => hook.last.id === "assess-1");
  expect(server.heard).toHaveLength(1);
});
