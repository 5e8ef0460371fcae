import { afterEach, beforeEach, expect, test } from "vitest";
import { createEvents } from "../../src/events.ts";

interface JobEvents {
  completed: { id: string };
  failed: { id: string; code: string };
}

const reported: [unknown, string][] = [];
const unhandled: unknown[] = [];
const onUnhandled = (error: unknown) => unhandled.push(error);
const make = () => createEvents<JobEvents>((error, name) => reported.push([error, name]));
const job = { id: "a" };
const broken = new Error("listener");

/** All microtasks are done, and Node has reported what was rejected and left alone. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  reported.length = 0;
  unhandled.length = 0;
  process.on("unhandledRejection", onUnhandled);
});

afterEach(() => {
  process.off("unhandledRejection", onUnhandled);
});

test("listeners hear their event in the order of registration, and no other", () => {
  const events = make();
  const heard: string[] = [];
  events.on("completed", ({ id }) => heard.push(`first ${id}`));
  events.on("failed", ({ code }) => heard.push(code));
  events.once("completed", () => heard.push("second"));
  events.on("completed", () => heard.push("third"));
  events.emit("completed", job);
  events.emit("completed", { id: "b" });
  expect(heard).toEqual(["first a", "second", "third", "first b", "third"]);
});

test("an event that nobody listens to is fine, and so is ending a registration twice", () => {
  const events = make();
  const end = events.on("completed", () => {});
  end();
  end();
  events.off("failed", () => {});
  expect(() => events.emit("completed", job)).not.toThrow();
});

test("unsubscribing ends one registration, off ends every one of the listener", () => {
  const events = make();
  let calls = 0;
  const listener = () => {
    calls++;
  };
  const end = events.on("completed", listener);
  events.on("completed", listener);
  events.once("completed", listener);
  end();
  events.emit("completed", job);
  expect(calls).toBe(2);
  events.off("completed", listener);
  events.emit("completed", job);
  expect(calls).toBe(2);
});

test("during an emit, who is unsubscribed is not called any more, who is added not yet", () => {
  const events = make();
  const heard: string[] = [];
  const endSelf = events.on("completed", () => {
    heard.push("self");
    endSelf();
    endLast();
    events.on("completed", () => heard.push("added"));
  });
  events.on("completed", () => heard.push("middle"));
  const endLast = events.on("completed", () => heard.push("last"));
  events.emit("completed", job);
  expect(heard).toEqual(["self", "middle"]);
  events.emit("completed", job);
  expect(heard).toEqual(["self", "middle", "middle", "added"]);
});

test("once is once, even when its listener emits the event again", () => {
  const events = make();
  let calls = 0;
  events.once("completed", () => {
    calls++;
    events.emit("completed", job);
  });
  events.emit("completed", job);
  expect(calls).toBe(1);
});

test("S31: a listener that throws is reported, and the others are called", () => {
  const events = make();
  let called = false;
  events.on("completed", () => {
    throw broken;
  });
  events.on("completed", () => {
    called = true;
  });
  events.emit("completed", job);
  expect(called).toBe(true);
  expect(reported).toEqual([[broken, "completed"]]);
});

test("S31: a listener that rejects is reported, and nothing stays unhandled", async () => {
  const events = make();
  events.on("completed", () => Promise.reject(broken));
  events.on("failed", async () => {
    throw broken;
  });
  events.emit("completed", job);
  events.emit("failed", { ...job, code: "X" });
  await settled();
  expect(reported).toEqual([
    [broken, "completed"],
    [broken, "failed"],
  ]);
  expect(unhandled).toEqual([]);
});

test("S31: a listener that answers a broken thenable is reported", async () => {
  const events = make();
  // biome-ignore lint/suspicious/noThenProperty: the broken thenable is what is tested.
  const thenable = Object.defineProperty({}, "then", {
    get: () => {
      throw broken;
    },
  });
  events.on("completed", () => thenable);
  events.emit("completed", job);
  await settled();
  expect(reported).toEqual([[broken, "completed"]]);
});

test.each<[string, () => unknown]>([
  [
    "throws",
    () => {
      throw broken;
    },
  ],
  ["rejects", () => Promise.reject(broken)],
])("S31: a reporter that %s hurts nobody", async (_, reporter) => {
  const events = createEvents<JobEvents>(reporter);
  events.on("completed", () => {
    throw broken;
  });
  events.on("completed", () => Promise.reject(broken));
  expect(() => events.emit("completed", job)).not.toThrow();
  await settled();
  expect(unhandled).toEqual([]);
});

test("a listener that is no function is refused", () => {
  const events = make();
  expect(() => events.on("completed", "log" as never)).toThrow(
    'listener is "log". Give a function.',
  );
});

test("whether anybody listens is told by name, and ends with the last registration", () => {
  const events = createEvents<JobEvents>(() => undefined);
  expect(events.heard("completed")).toBe(false);
  const off = events.on("completed", () => undefined);
  events.once("completed", () => undefined);
  expect([events.heard("completed"), events.heard("failed")]).toEqual([true, false]);
  off();
  expect(events.heard("completed")).toBe(true);
  events.emit("completed", {} as JobEvents["completed"]);
  expect(events.heard("completed")).toBe(false);
});
