import { describe, expect, test } from "vitest";
import { backends } from "../support/databases.ts";
import { useDatabase } from "./support/calls.ts";

const kinds = Array.from({ length: 30 }, (_, i) => `kind ${i}`);

describe.each(backends)("claims of many kinds on %s", (backend) => {
  const { rows, query, call } = useDatabase(backend);

  /** Kind 0 has half of the jobs, kind 1 a quarter, and so on; the times are of all alike. */
  async function fill(count: number): Promise<string[]> {
    await query(
      `insert into leasehold.jobs (id, kind, priority, run_after)
       select ('0198a000-0000-7000-8000-' || lpad(to_hex(g * 7919 % 65536), 12, '0'))::uuid,
         'kind ' || least(floor(-log(2, (g * 613 % 1000 + 1) / 1001.0)), 29), g % 2,
         clock_timestamp() - (g * 389 % 500) * interval '1 second'
       from generate_series(1, $1::int) g`,
      [count],
    );
    const order = await query("select id from leasehold.jobs order by priority, run_after, id");
    return order.map(({ id }) => id);
  }

  test.each([1, 7, 64, 400])("hand out %d at a time in the order of all of them", async (limit) => {
    const order = await fill(800);
    const claimed: string[] = [];
    for (let i = 0; i * limit < Math.min(800, 12 * limit); i += 1) {
      const jobs = await rows("claim", kinds, limit);
      claimed.push(...jobs.map(({ id }) => id));
    }
    expect(claimed).toEqual(order.slice(0, Math.min(800, 12 * limit)));
  });

  test("pass over what is excepted, and go on behind it", async () => {
    const order = await fill(300);
    const except = order.slice(0, 200);
    const jobs = await rows("claim", kinds, 50, null, null, null, except);
    expect(jobs.map(({ id }) => id)).toEqual(order.slice(200, 250));
    await call("pause", "kind 0");
    const left = await rows("claim", kinds, 300);
    expect(left.some(({ kind }) => kind === "kind 0")).toBe(false);
  });
});
