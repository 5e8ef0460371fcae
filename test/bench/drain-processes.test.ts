import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { Bench } from "../../bench/harness/bench.ts";
import { drain } from "../../bench/harness/drain.ts";
import { drainedFigures } from "../../bench/harness/drained.ts";
import { nodeFor } from "../../bench/harness/node.ts";
import { Place } from "../../bench/harness/place.ts";
import { BenchServer } from "../../bench/harness/server.ts";

const kinds = ["noop"];
let bench: Bench;

beforeAll(async () => {
  const server = await BenchServer.over({ url: inject("adminUrl") });
  bench = {
    ...{ server, node: nodeFor(false), env: {}, scale: 1 },
    ...{ limitMs: 60_000, fillLimitMs: 60_000, minutes: 1 },
    cpuSeconds: () => undefined,
  };
});

afterAll(() => bench.server.stop());

/** In a fresh database. `limitMs` after which a drain is ended. */
async function inPlace<T>(
  contender: string,
  use: (place: Place) => Promise<T>,
  limitMs = bench.limitMs,
): Promise<T> {
  const place = await Place.open({ ...bench, limitMs }, contender);
  try {
    return await use(place);
  } finally {
    await place.close();
  }
}

test.each(["leasehold", "bare SQL"])("%s is drained, each job once, by two processes", (name) =>
  inPlace(name, async (place) => {
    const due = 3_000;
    await place.prepare(kinds);
    await place.fill({ from: 0, count: due, kinds }, { perCall: 500 });
    const drained = await drain(place, { kinds, consumers: 2, due });
    expect(drained).toMatchObject({ cut: false, allInHand: false, serverCpuSeconds: undefined });
    expect(drained.jobs).toBeGreaterThan(0);
    expect(drained.jobs).toBeLessThan(due);
    const figures = drainedFigures(drained, bench.limitMs);
    expect(figures.map(({ name }) => name)).toContain("rate");
    for (const { value } of figures) expect(value).toBeGreaterThan(0);
  }),
);

test("the first of a backlog are measured, the rest stays in the queue", () =>
  inPlace("leasehold", async (place) => {
    const due = 20_000;
    await place.prepare(kinds);
    await place.fill({ from: 0, count: due, kinds });
    const drained = await drain(place, { kinds, consumers: 1, due, first: 500 });
    expect(drained.jobs).toBeGreaterThanOrEqual(500);
    expect(drained.jobs).toBeLessThan(due / 2);
    const [row] = await place.query(
      "select count(*) filter (where status = 'queued')::int as queued, count(*)::int as all from leasehold.jobs",
    );
    expect(row?.all).toBe(due);
    expect(row?.queued).toBeGreaterThan(due / 2);
    expect(row?.queued).toBeLessThanOrEqual(due - drained.jobs);
  }));

const number77 = "payload = '{\"n\": 77}'";

test.each([
  ["lost", `delete from leasehold.jobs where ${number77}`],
  ["not run", `update leasehold.jobs set run_after = 'infinity' where ${number77}`],
])("a job that is %s is no figure", (_, damage) =>
  inPlace(
    "leasehold",
    async (place) => {
      await place.prepare(kinds);
      await place.fill({ from: 0, count: 200, kinds });
      await place.query(damage);
      await expect(drain(place, { kinds, consumers: 1, due: 200 })).rejects.toThrow(
        "No figure, since 199 of 200 jobs had run",
      );
    },
    3_000,
  ),
);

test("a number that is there twice is no figure", () =>
  inPlace("leasehold", async (place) => {
    await place.prepare(kinds);
    await place.fill({ from: 0, count: 200, kinds });
    await place.query(`update leasehold.jobs set payload = '{"n": 76}' where ${number77}`);
    await expect(drain(place, { kinds, consumers: 1, due: 200 })).rejects.toThrow(
      /No figure, since 1 jobs ran twice: 76; 1 jobs never ran: 77/,
    );
  }));

test("a child that crashes fails what it was asked, with what it printed", () =>
  inPlace("nobody", async (place) => {
    await expect(place.prepare(kinds)).rejects.toThrow("There is no contender named nobody.");
  }));
