import "./support/page.ts";
import { QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { createElement, type ReactNode } from "react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  type Connection,
  createConnection,
  jobKey,
  jobQueryOptions,
} from "../../src/react/index.ts";
import { acting, mountHook, setVisibility, unmountAll, until } from "./support/mount.ts";
import { scripted } from "./support/scripted.ts";
import { startServer, view } from "./support/server.ts";

const client = new QueryClient();
const wrap = (children: ReactNode) => createElement(QueryClientProvider, { client }, children);
const follow = (connection: Connection) =>
  // Its fields are read in each render: TanStack renders anew only for those that were.
  mountHook(
    (id: string) => {
      const { data, error } = useQuery(jobQueryOptions(id, { connection }));
      return { data, error };
    },
    "a",
    { wrap },
  );

const pass = (ms: number) => acting(() => vi.advanceTimersByTimeAsync(ms));

/** TanStack tells its observers of a change in a timer of its own. */
const noticed = () => pass(1);

beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0);
});

afterEach(async () => {
  await setVisibility("visible");
  await unmountAll();
  client.clear();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("over real HTTP, TanStack Query follows a job to its end, with ETags", async () => {
  const server = await startServer();
  const basePath = `${server.origin}/api/leasehold`;
  const connection = createConnection({ basePath, firstPauseMs: 1, maxPauseMs: 1 });
  server.jobs.set("a", view("a"));
  const hook = await follow(connection);
  await until(() => server.heard.length > 4);
  expect(server.heard[3]?.headers["if-none-match"]).toMatch(/^W\//);
  server.jobs.set("a", view("a", { status: "completed", result: 7 }));
  await until(() => hook.last.data?.status === "completed");
  expect(client.getQueryData(jobKey(connection, "a"))).toEqual(hook.last.data);
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
  expect(server.times).toEqual([0, 500, 1_250, 5_250, 6_938]);
  expect(hook.last.data).toMatchObject({ money: "refunded" });
});

test("a component that renders all the time does not put the next request off", async () => {
  vi.useFakeTimers();
  vi.mocked(Math.random).mockRestore();
  const server = scripted([{ job: { status: "running" } }]);
  const hook = await follow(server.connection);
  for (let i = 0; i < 10; i += 1) {
    await pass(100);
    await hook.render("a");
  }
  expect(server.times.length).toBeGreaterThan(1);
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
  await noticed();
  expect(hook.last).toMatchObject({ data: { status: "running" }, error: { status: 503 } });
  await pass(8_998);
  expect(server.times).toHaveLength(2);
  await pass(1);
  await noticed();
  expect(hook.last).toMatchObject({ data: { status: "completed" }, error: null });
});

test("a 404 ends it, and a page that is shown again changes nothing", async () => {
  vi.useFakeTimers();
  const server = scripted([{ status: 404 }]);
  const hook = await follow(server.connection);
  await pass(60_000);
  await setVisibility("hidden");
  await setVisibility("visible");
  await pass(60_000);
  expect(server.times).toEqual([0]);
  expect(hook.last.error).toMatchObject({ status: 404 });
});

test("a hidden page asks nothing, and a settled job is not asked for when shown or used again", async () => {
  vi.useFakeTimers();
  const server = scripted([{ job: { status: "running" } }, { job: { status: "completed" } }]);
  const hook = await follow(server.connection);
  await setVisibility("hidden");
  await pass(60_000);
  expect(server.times).toEqual([0]);
  await setVisibility("visible");
  await noticed();
  expect(hook.last.data?.status).toBe("completed");
  await setVisibility("hidden");
  await setVisibility("visible");
  await pass(60_000);
  await follow(server.connection);
  await pass(60_000);
  expect(server.times).toHaveLength(2);
});

test("without an id nothing is asked, and the end of the component drops the request", async () => {
  vi.useFakeTimers();
  const server = scripted(["never"]);
  const hook = await follow(server.connection);
  await hook.unmount();
  expect(server.aborted).toEqual([0]);
  const none = await mountHook(() => useQuery(jobQueryOptions(null, server)), null, { wrap });
  await pass(60_000);
  expect(server.times).toHaveLength(1);
  expect(none.last.fetchStatus).toBe("idle");
});
