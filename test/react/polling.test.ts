import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Connection, useJob } from "../../src/react/index.ts";
import { acting, mountHook, setVisibility, unmountAll } from "./support/mount.ts";
import { type Scripted, scripted } from "./support/scripted.ts";

const running: Scripted = { job: { status: "running" } };
const completed: Scripted = { job: { status: "completed", result: 7 } };
const follow = (connection: Connection) =>
  mountHook((id: string) => useJob(id, { connection }), "a");
const pass = (ms: number) => acting(() => vi.advanceTimersByTimeAsync(ms));

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0);
});

afterEach(async () => {
  await setVisibility("visible");
  await unmountAll();
  expect(vi.getTimerCount()).toBe(0);
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("it asks with pauses that grow by half up to ten seconds", async () => {
  const server = scripted([running]);
  await follow(server.connection);
  await pass(60_000);
  const between = server.times.map((time, i) => time - (server.times[i - 1] ?? 0)).slice(1);
  expect(between.slice(0, 4)).toEqual([500, 750, 1125, 1688]);
  expect(between.slice(8)).toEqual([10_000, 10_000, 10_000]);
});

test("the pauses are those of the connection", async () => {
  const server = scripted([running], { firstPauseMs: 100, maxPauseMs: 150 });
  await follow(server.connection);
  await pass(450);
  expect(server.times).toEqual([0, 100, 250, 400]);
});

test("it asks no sooner than the server's Retry-After", async () => {
  const server = scripted([{ ...running, headers: { "retry-after": "4" } }, running]);
  await follow(server.connection);
  await pass(3_999);
  expect(server.times).toEqual([0]);
  await pass(1);
  expect(server.times).toEqual([0, 4_000]);
});

test("it ends when the job has ended", async () => {
  const server = scripted([running, completed]);
  const { values } = await follow(server.connection);
  await pass(500);
  expect(values.at(-1)).toMatchObject({
    job: { status: "completed", result: 7 },
    isPolling: false,
    isSettled: true,
  });
  await pass(3_600_000);
  expect(server.times).toEqual([0, 500]);
});

test("it goes on while the money of an ended job is being checked", async () => {
  const server = scripted([
    { job: { status: "failed", money: "checking", notice: "failed_checking" } },
    { job: { status: "failed", money: "not_charged", notice: "failed_not_charged" } },
  ]);
  const hook = await follow(server.connection);
  expect(hook.last).toMatchObject({ isPolling: true, isSettled: false });
  await pass(3_600_000);
  expect(hook.last.job?.notice).toBe("failed_not_charged");
  expect(hook.last).toMatchObject({ isPolling: false, isSettled: true });
  expect(server.times).toHaveLength(2);
});

test("without an answer it keeps the last value, shows the error, and goes on with growing pauses", async () => {
  const server = scripted([running, "no answer", "no answer", running]);
  const hook = await follow(server.connection);
  await pass(500);
  expect(hook.last).toMatchObject({ job: { status: "running" }, isPolling: true });
  expect(hook.last.error).toMatchObject({ code: "NETWORK", status: null, isFinal: false });
  await pass(750 + 1125);
  expect(server.times).toEqual([0, 500, 1250, 2375]);
  expect(hook.last.error).toBeNull();
});

test("it is loading until the first answer, errors in between included", async () => {
  const server = scripted(["no answer", running]);
  const hook = await follow(server.connection);
  expect(hook.values[0]).toMatchObject({ job: null, error: null, isLoading: true });
  expect(hook.last).toMatchObject({ job: null, error: { code: "NETWORK" }, isLoading: true });
  await pass(500);
  expect(hook.last).toMatchObject({ isLoading: false, error: null });
});

test.each([400, 401, 403, 404, 410])("a %i ends it with an error", async (status) => {
  const server = scripted([running, { status }]);
  const hook = await follow(server.connection);
  await pass(3_600_000);
  expect(server.times).toHaveLength(2);
  expect(hook.last).toMatchObject({
    job: { status: "running" },
    isPolling: false,
    isLoading: false,
  });
  expect(hook.last.error).toMatchObject({ status, code: `HTTP_${status}`, isFinal: true });
});

test.each([408, 429, 500, 502, 503])(
  "after a %i it goes on, as late as it is told",
  async (status) => {
    const server = scripted([{ status, headers: { "retry-after": "9" } }, completed]);
    const hook = await follow(server.connection);
    expect(hook.last.error).toMatchObject({ status, retryAfterMs: 9_000, isFinal: false });
    await pass(8_999);
    expect(server.times).toHaveLength(1);
    await pass(1);
    expect(hook.last).toMatchObject({ error: null, isSettled: true });
  },
);

test.each(["<html>", "{}", "null"])("an answer of %s is no job, and it goes on", async (text) => {
  const server = scripted([{ text }, completed]);
  const hook = await follow(server.connection);
  expect(hook.last.error).toMatchObject({ code: "BAD_ANSWER", status: 200, isFinal: false });
  await pass(500);
  expect(hook.last.isSettled).toBe(true);
});

test("a request that is never answered is given up", async () => {
  const server = scripted(["never", completed], { timeoutMs: 2_000 });
  const hook = await follow(server.connection);
  await pass(2_000);
  expect(server.aborted).toEqual([0]);
  expect(hook.last.error).toMatchObject({ code: "NETWORK", message: "No answer within 2000 ms" });
  await pass(500);
  expect(hook.last.isSettled).toBe(true);
});

test("headers that never come are given up, too", async () => {
  const server = scripted([completed], { timeoutMs: 2_000, headers: () => new Promise(() => {}) });
  const hook = await follow(server.connection);
  await pass(2_000);
  expect(hook.last.error).toMatchObject({ code: "NETWORK" });
});

test("in a hidden page nothing is asked, and at once when it is shown", async () => {
  const server = scripted([running]);
  await follow(server.connection);
  await pass(500);
  await setVisibility("hidden");
  await pass(3_600_000);
  expect(server.times).toEqual([0, 500]);
  await setVisibility("visible");
  expect(server.times).toEqual([0, 500, 3_600_500]);
  await pass(1125);
  expect(server.times).toHaveLength(4);
});

test("a request that is answered in a hidden page is the last one", async () => {
  const server = scripted([running]);
  const answers: ((answer: Response) => void)[] = [];
  const fetch = () => new Promise<Response>((resolve) => answers.push(resolve));
  const hook = await follow({ ...server.connection, fetch });
  await setVisibility("hidden");
  const answer = await server.connection.fetch("/jobs/a", {});
  await acting(async () => answers[0]?.(answer));
  await pass(3_600_000);
  expect(hook.last.job?.status).toBe("running");
  expect(answers).toHaveLength(1);
});

test("a page that begins hidden asks when it is first shown", async () => {
  const server = scripted([completed]);
  await setVisibility("hidden");
  const hook = await follow(server.connection);
  await pass(60_000);
  expect(server.times).toEqual([]);
  expect(hook.last.isLoading).toBe(true);
  await setVisibility("visible");
  expect(hook.last.isSettled).toBe(true);
});

test("a page that is shown asks nothing about a settled job", async () => {
  const server = scripted([completed]);
  await follow(server.connection);
  await setVisibility("hidden");
  await setVisibility("visible");
  await pass(60_000);
  expect(server.times).toEqual([0]);
});

test("a page that is shown waits on where the server refused", async () => {
  const server = scripted([{ status: 503, headers: { "retry-after": "9" } }, running]);
  await follow(server.connection);
  await pass(1_000);
  await setVisibility("hidden");
  await setVisibility("visible");
  expect(server.times).toEqual([0]);
  await pass(8_000);
  expect(server.times).toEqual([0, 9_000]);
});

test("refresh asks at once and begins with short pauses again", async () => {
  const server = scripted([running]);
  const hook = await follow(server.connection);
  await pass(30_000);
  const asked = server.times.length;
  await acting(() => hook.last.refresh());
  expect(server.times).toHaveLength(asked + 1);
  await pass(500);
  expect(server.times).toHaveLength(asked + 2);
});
