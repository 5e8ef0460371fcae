import { expect, test, vi } from "vitest";
import { startTick } from "../../src/cli/dev/tick.ts";

const forNobody = { url: undefined, secret: "" };

test("any number of ticks leaves no listener behind", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on("warning", onWarning);
  const call = vi.fn(async () => undefined);
  const tick = startTick({ ...forNobody, everyMs: 1, database: { call } });
  await vi.waitFor(() => expect(call.mock.calls.length).toBeGreaterThan(40));
  await tick.stop();
  await new Promise((resolve) => setImmediate(resolve)); // warnings come a turn later
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
});

test("a stop in the middle of a tick waits for that one, and not for the next", async () => {
  let answer: () => void = () => undefined;
  const call = vi.fn(() => new Promise((resolve) => (answer = () => resolve(undefined))));
  const tick = startTick({ ...forNobody, everyMs: 300, database: { call } });
  await vi.waitFor(() => expect(call).toHaveBeenCalledTimes(1));
  let stopped = false;
  const stopping = tick.stop().then(() => {
    stopped = true;
  });
  answer(); // of reap
  await vi.waitFor(() => expect(call).toHaveBeenCalledTimes(2));
  expect(stopped).toBe(false);
  const answeredAt = performance.now();
  answer(); // of prune
  await stopping;
  expect(performance.now() - answeredAt).toBeLessThan(200);
});
