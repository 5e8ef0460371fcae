import "./support/page.ts";
import { createElement, type ReactNode } from "react";
import useSWR, { SWRConfig } from "swr";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Connection, createConnection, jobSwr } from "../../src/react/index.ts";
import { acting, mountHook, setVisibility, unmountAll, until } from "./support/mount.ts";
import { scripted } from "./support/scripted.ts";
import { startServer, view } from "./support/server.ts";

let cache: Map<string, object>;
const wrap = (children: ReactNode) =>
  createElement(SWRConfig, { value: { provider: () => cache } }, children);
const follow = (connection: Connection) =>
  // Its fields are read in each render: SWR renders anew only for those that were.
  mountHook(
    (id: string | null) => {
      const { data, error } = useSWR(...jobSwr(id, { connection }));
      return { data, error };
    },
    "a" as string | null,
    { wrap },
  );
const pass = (ms: number) => acting(() => vi.advanceTimersByTimeAsync(ms));

beforeEach(() => {
  cache = new Map();
  vi.spyOn(Math, "random").mockReturnValue(0);
});

afterEach(async () => {
  await setVisibility("visible");
  await unmountAll();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("over real HTTP, SWR follows a job to its end, with ETags", async () => {
  const server = await startServer();
  const basePath = `${server.origin}/api/leasehold`;
  const connection = createConnection({ basePath, firstPauseMs: 4, maxPauseMs: 4 });
  server.jobs.set("a", view("a"));
  const hook = await follow(connection);
  await until(() => server.heard.length > 4);
  expect(server.heard[3]?.headers["if-none-match"]).toMatch(/^W\//);
  server.jobs.set("a", view("a", { status: "completed", result: 7 }));
  await until(() => hook.last.data?.status === "completed");
  await server.close();
});

test("the pauses grow, follow Retry-After, and end when the job is settled", async () => {
  vi.useFakeTimers();
  const running = { job: { status: "running" } } as const;
  const server = scripted([
    running,
    running,
    { ...running, headers: { "retry-after": "4" } },
    { job: { status: "failed", money: "checking" } },
    { job: { status: "failed", money: "refunded" } },
  ]);
  const hook = await follow(server.connection);
  await pass(3_600_000);
  // SWR begins its first pause before the first answer; from then on the pauses are ours.
  expect(server.times).toEqual([0, 500, 1_250, 5_250, 6_938]);
  expect(hook.last.data).toMatchObject({ money: "refunded" });
});

test("a component that renders all the time does not put the next request off", async () => {
  vi.useFakeTimers();
  const server = scripted([{ job: { status: "running" } }]);
  const hook = await follow(server.connection);
  for (let i = 0; i < 10; i += 1) {
    await pass(100);
    await hook.render("a");
  }
  expect(server.times.length).toBeGreaterThan(1);
});

test("components with the same job share their requests", async () => {
  vi.useFakeTimers();
  const server = scripted([{ job: { status: "running" } }]);
  await mountHook(
    () => [useSWR(...jobSwr("a", server)).data, useSWR(...jobSwr("a", server)).data],
    null,
    { wrap },
  );
  await pass(10_000);
  expect(server.times).toEqual([...new Set(server.times)]);
});

test("a component that comes right after an answer makes do with that", async () => {
  vi.useFakeTimers();
  const server = scripted([{ job: { status: "running" } }]);
  await follow(server.connection);
  await pass(100);
  const late = await follow(server.connection);
  expect(late.last.data?.status).toBe("running");
  expect(server.times).toEqual([0]);
});

test("an error stands beside the last value, and it goes on", async () => {
  vi.useFakeTimers();
  const server = scripted([
    { job: { status: "running" } },
    { status: 503, headers: { "retry-after": "9" } },
    { job: { status: "completed" } },
  ]);
  const hook = await follow(server.connection);
  await pass(500);
  expect(hook.last).toMatchObject({ data: { status: "running" }, error: { status: 503 } });
  await pass(8_999);
  expect(server.times).toHaveLength(2);
  await pass(1);
  expect(hook.last.data).toMatchObject({ status: "completed" });
  expect(hook.last.error).toBeUndefined();
});

test("a 404 ends it", async () => {
  vi.useFakeTimers();
  const server = scripted([{ status: 404 }]);
  const hook = await follow(server.connection);
  await pass(3_600_000);
  expect(server.times).toEqual([0]);
  expect(hook.last.error).toMatchObject({ status: 404 });
});

test("a hidden page asks nothing", async () => {
  vi.useFakeTimers();
  const server = scripted([{ job: { status: "running" } }]);
  await follow(server.connection);
  await setVisibility("hidden");
  await pass(60_000);
  expect(server.times).toEqual([0]);
});

test("without an id nothing is asked, and no timer runs", async () => {
  vi.useFakeTimers();
  const server = scripted([{}]);
  await mountHook(() => useSWR(...jobSwr(undefined, server)).data, null, { wrap });
  await pass(60_000);
  expect(server.times).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
});
