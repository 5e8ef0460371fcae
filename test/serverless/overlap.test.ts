import { afterAll, beforeAll, expect, test } from "vitest";
import { counts } from "../drain/support/client.ts";
import { waitForLocks } from "../support/barrier.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { openPlace, type Place, tables } from "./support/place.ts";
import type { Instance } from "./support/platform.ts";

let db: TestDatabase;
let place: Place;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
  await db.query(tables);
});
afterAll(async () => {
  await place.close();
  await db.close();
});

test.each([
  ["one instance that serves them all", 1],
  ["an instance each", 5],
])(
  "five drains at once, GET and POST, one caller gone: each job once, on %s (S45)",
  async (_, many) => {
    await place?.close();
    await db.reset();
    await db.query("truncate public.runs");
    place = openPlace(db.url, { maxJobs: 3, budgetMs: 2_000, reserveMs: 500 });
    const { platform } = place;
    const instances = await Promise.all(Array.from({ length: many }, () => platform.start()));
    const ids = await place.enqueue(...Array<object>(30).fill({ does: "rests", ms: 100 }));
    const answered: { reason: string; processed: number }[] = [];
    let gone = 0;
    for (let round = 0; (await counts(db)).completed !== 30; round += 1) {
      if (round === 30) throw new Error("30 rounds were not enough for 30 jobs");
      const leaving = new AbortController();
      // All that start look for their first job at the same moment.
      const barrier = await db.connect();
      await barrier.begin();
      await barrier.query("lock table leasehold.jobs in exclusive mode");
      const drains = Array.from({ length: 5 }, (_, i) =>
        place.drain(instances[i % many] as Instance, {
          method: i % 2 === 0 ? "GET" : "POST",
          signal: round === 0 && i === 2 ? leaving.signal : null,
        }),
      );
      void drains[2]?.begun.then(() => setTimeout(() => leaving.abort(), 10));
      await waitForLocks(db, many);
      await barrier.rollback();
      await barrier.close();
      for (const { response } of drains) {
        await response.then(
          ({ status, body }) => {
            expect(status).toBe(200);
            answered.push(body);
          },
          (error) => {
            expect(error).toMatchObject({ name: "AbortError" });
            gone += 1;
          },
        );
      }
      await Promise.all(drains.map(({ over }) => over));
    }
    // Each run was told, and the table of the test's own says the same.
    const runs = platform.toldOf("handled").map(({ id, generation }) => [id, generation]);
    expect(runs.sort()).toEqual(ids.map((id) => [id, 1]).sort());
    expect(await db.query("select job_id, generation from public.runs order by job_id")).toEqual(
      [...ids].sort().map((id) => ({ job_id: id, generation: 1 })),
    );
    const drained = platform.toldOf("drained");
    const sum = (reports: readonly { processed: number }[]) =>
      reports.reduce((total, { processed }) => total + processed, 0);
    expect(sum(drained)).toBe(30);
    // The one who left had a report too, or had joined another's.
    expect(gone).toBe(1);
    expect(sum(answered)).toBeGreaterThanOrEqual(30 - 3 * 5);
    expect(sum(answered)).toBeLessThanOrEqual(30);
    // Nobody reports of a drain that is another's.
    const joined = answered.filter(({ reason }) => reason === "joined");
    expect(answered.length - joined.length).toBeLessThanOrEqual(drained.length);
    if (many === 1) expect(joined.length).toBeGreaterThan(0);
    expect(sum(joined)).toBe(0);
    expect(platform.forced).toEqual([]);
  },
);
