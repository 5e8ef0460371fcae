import { expect, test } from "vitest";
import { JoinedDrains } from "../../src/next/joined-drains.ts";
import { type Deferred, deferred } from "../drain/support/client.ts";

interface Begun extends Deferred {
  budgetMs: number;
  askers: number;
}

/** Drains that end when the test says so. */
function staged(budgetMs = 60_000) {
  const begun: Begun[] = [];
  let running = 0;
  const drains = new JoinedDrains(budgetMs, async (budget, askers) => {
    const drain = { ...deferred(), budgetMs: budget, askers };
    begun.push(drain);
    running += 1;
    expect(running).toBe(1);
    await drain.promise;
    running -= 1;
  });
  return { begun, drains };
}

/** All that can happen without time's passing has happened. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 0));

test("those who ask while one runs get one more after it, together", async () => {
  const { begun, drains } = staged();
  const first = drains.run();
  let ended = 0;
  const others = Array.from({ length: 3 }, () => drains.run().then(() => (ended += 1)));
  await settled();
  expect(begun).toHaveLength(1);
  begun[0]?.resolve();
  await first;
  await settled();
  expect(begun.map(({ askers }) => askers)).toEqual([1, 3]);
  expect(ended).toBe(0);
  begun[1]?.resolve();
  await Promise.all(others);
  await settled();
  expect(begun).toHaveLength(2);
});

test("the first does not wait for those who follow", async () => {
  const { begun, drains } = staged();
  const first = drains.run();
  void drains.run();
  begun[0]?.resolve();
  await first;
  await settled();
  expect(begun).toHaveLength(2);
});

test("who asks while the following one runs gets a third", async () => {
  const { begun, drains } = staged();
  void drains.run();
  void drains.run();
  begun[0]?.resolve();
  await settled();
  const late = drains.run();
  await settled();
  expect(begun).toHaveLength(2);
  begun[1]?.resolve();
  await settled();
  expect(begun).toHaveLength(3);
  begun[2]?.resolve();
  await late;
});

test("nobody is lost who asks just as one ends", async () => {
  // As many turns of the microtask queue between the end and the question as matter, and some more.
  for (let turns = 0; turns < 10; turns += 1) {
    const { begun, drains } = staged();
    void drains.run();
    begun[0]?.resolve();
    for (let i = 0; i < turns; i += 1) await Promise.resolve();
    const asked = drains.run();
    await settled();
    expect(begun, `after ${turns} turns`).toHaveLength(2);
    begun[1]?.resolve();
    await asked;
  }
});

test("never do two run at a time, whenever one is asked for", async () => {
  for (let turns = 0; turns < 10; turns += 1) {
    const { begun, drains } = staged();
    const asked = [drains.run(), drains.run()];
    begun[0]?.resolve();
    for (let i = 0; i < turns; i += 1) await Promise.resolve();
    asked.push(drains.run());
    for (let i = 1; i < 3; i += 1) {
      await settled();
      begun[i]?.resolve();
    }
    await Promise.all(asked);
  }
});

test("one after the other has the whole budget; who waited has what is left of it", async () => {
  const { begun, drains } = staged(60_000);
  const first = drains.run();
  begun[0]?.resolve();
  await first;
  void drains.run();
  const waited = drains.run();
  await new Promise((resolve) => setTimeout(resolve, 20));
  begun[1]?.resolve();
  await settled();
  expect(begun.slice(0, 2).map(({ budgetMs }) => budgetMs)).toEqual([60_000, 60_000]);
  expect(begun[2]?.budgetMs).toBeLessThanOrEqual(59_985);
  expect(begun[2]?.budgetMs).toBeGreaterThan(50_000);
  begun[2]?.resolve();
  await waited;
});
