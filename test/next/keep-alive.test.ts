import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { deferred } from "../drain/support/client.ts";

type Task = () => Promise<void>;

beforeEach(() => vi.resetModules());
afterEach(() => {
  vi.doUnmock("next/server.js");
  vi.unstubAllEnvs();
});

/** The door as it is evaluated with this `after`; without one Next is not installed. */
async function door(after?: (task: Task) => void) {
  if (after !== undefined) vi.doMock("next/server.js", () => ({ after }));
  return import("../../src/next/keep-alive.ts");
}

const outside = (): never => {
  throw new Error("`after` was called outside a request scope");
};

test("hands the work to after, and neither begins it nor waits for it", async () => {
  const tasks: Task[] = [];
  const { keepAlive } = await door((task) => tasks.push(task));
  const work = vi.fn(() => Promise.resolve());
  await keepAlive(work);
  expect(work).not.toHaveBeenCalled();
  await tasks[0]?.();
  expect(work).toHaveBeenCalledTimes(1);
});

test.each([
  ["without Next", undefined],
  ["outside a request", outside],
])("%s the work runs in this process, after this turn", async (_, after) => {
  const { keepAlive } = await door(after);
  const ran = deferred();
  const order: string[] = [];
  await keepAlive(async () => {
    order.push("worked");
    ran.resolve();
  });
  order.push("arranged");
  await ran.promise;
  expect(order).toEqual(["arranged", "worked"]);
});

test.each([
  ["without Next", undefined],
  ["outside a request", outside],
])("on Vercel it raises %s, since the function would be frozen", async (_, after) => {
  vi.stubEnv("VERCEL", "1");
  const { keepAlive } = await door(after);
  const work = vi.fn(() => Promise.resolve());
  await expect(keepAlive(work)).rejects.toMatchObject({ code: "LH109" });
  await new Promise((resolve) => setTimeout(resolve, 0));
  expect(work).not.toHaveBeenCalled();
});

test("on Vercel within a request it raises nothing", async () => {
  vi.stubEnv("VERCEL", "1");
  const after = vi.fn();
  const { keepAlive } = await door(after);
  await keepAlive(() => Promise.resolve());
  expect(after).toHaveBeenCalledTimes(1);
});

test("tells of what after would swallow, and rejects nowhere", async () => {
  const tasks: Task[] = [];
  const { keepAliveWith } = await door((task) => tasks.push(task));
  const failed = vi.fn();
  const error = new Error("the database is away");
  await keepAliveWith(failed)(() => Promise.reject(error));
  await tasks[0]?.();
  expect(failed).toHaveBeenCalledExactlyOnceWith(error);
});
