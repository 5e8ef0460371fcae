import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { type Calls, json, useDatabase } from "./support/calls.ts";

const switches = [
  "seqscan",
  "indexscan",
  "bitmapscan",
  "hashjoin",
  "mergejoin",
  "nestloop",
  "material",
];
const each = switches.map((name) => [name]);

/** What claim must hand out, asked of the table. */
const due = `select id from leasehold.jobs
  where status = 'queued' and run_after <= clock_timestamp() and kind = any ($1) and kind <> 'paused'
  order by priority, run_after, id limit $2`;

describe.each(backends)("the plans of claim on %s", (backend) => {
  const { call, query, session } = useDatabase(backend);
  // The planner is the same on both, and slow on PGlite.
  const settings = backend === "postgres" ? [[], ...each, switches] : [[], switches];

  test("never hand out another job, or one more, than the order and the limit say", async () => {
    await put2000Jobs();
    await session(async (own) => {
      for (const analyzed of [false, true]) {
        if (analyzed) await own.query("analyze leasehold.jobs");
        for (const off of settings) {
          await own.query("begin");
          for (const name of off) await own.query(`set local enable_${name} = off`);
          await claimAndCompare(own, `${analyzed ? "analyzed, " : ""}off: ${off.join(" ")}`);
          await own.query("rollback");
        }
      }
    });
  });

  /** Several kinds and priorities, due and delayed, queued, running and finished. */
  async function put2000Jobs(): Promise<void> {
    await call("pause", "paused");
    const jobs = Array.from({ length: 2000 }, (_, i) => ({
      kind: ["a", "b", "c", "a", "paused"][i % 5],
      priority: i % 3,
      ...(i % 4 === 0 ? { delay_ms: 60_000 } : { run_after: minutesAgo((i * 7919) % 1000) }),
    }));
    await call("enqueue_many", json(jobs));
    await query("select leasehold.claim(array['a', 'b'], 200)");
    await query(
      `select leasehold.complete(id, generation) from leasehold.jobs where status = 'running' limit 150`,
    );
  }

  async function claimAndCompare(own: Calls, context: string): Promise<void> {
    for (const [kinds, limit] of [
      [["a"], 1],
      [["a"], 120],
      [["a", "b", "c", "paused", "none"], 1],
      [["b", "c"], 90],
      [["a", "b", "c", "paused"], 400],
      [["a", "b", "c"], 2000],
    ] as const) {
      const expected = (await own.query(due, [kinds, limit])).map(({ id }) => id);
      const claimed = (await own.rows("claim", kinds, limit)).map(({ id }) => id);
      expect(claimed.length, context).toBeGreaterThan(0);
      expect(claimed, context).toEqual(expected);
    }
  }
});

const minutesAgo = (minutes: number): string =>
  new Date(Date.now() - 1000 - minutes * 60_000).toISOString();
