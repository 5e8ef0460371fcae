import { describe, expect } from "vitest";
import { eventsOf, rowOf, until } from "../drain/support/client.ts";
import { testApart } from "./support/place.ts";

/** The lease is over long before the platform's limit, so that a frozen instance is not killed. */
const times = { leaseMs: 400, budgetMs: 20_000, limitMs: 60_000 };

describe("an instance that is frozen for longer than its lease, and thawed (S04)", () => {
  for (const when of ["while another runs the job", "after another has done the job"] as const) {
    testApart(`${when}: its result is dropped, and there is one`, times, async (place, db) => {
      const { platform } = place;
      const [id = ""] = await place.enqueue({ does: "writes" });
      const [frozen, other] = await Promise.all([platform.start(), platform.start()]);
      const first = place.drain(frozen);
      await until(() => platform.toldOf("middle").length === 1, "the first is in its middle");
      frozen.freeze();
      // A cron looks until the lease is over; the look that finds it so does the job.
      const looks = until(async () => {
        const { body } = await place.drain(other).response;
        return body.processed === 1;
      }, "another takes the job");
      looks.catch(() => undefined); // told below, or by what fails before
      await until(() => platform.toldOf("middle").length === 2, "the other is in its middle");
      const thaw = async () => {
        frozen.thaw();
        frozen.say(`${id}.1`);
        expect((await first.response).body).toMatchObject({
          ...{ processed: 1, completed: 0, lost: 1 },
          jobs: [{ id, outcome: "lost" }],
        });
        expect(platform.toldOf("lost")).toMatchObject([{ id, generation: 1, pid: frozen.pid }]);
      };
      if (when === "while another runs the job") await thaw();
      other.say(`${id}.2`);
      await looks;
      if (when === "after another has done the job") await thaw();
      expect(await db.query("select * from public.effects")).toEqual([
        { job_id: id, generation: 2 },
      ]);
      expect(await rowOf(db, id)).toMatchObject({
        ...{ status: "completed", result: 2, generation: 2, attempts: 2, lease_until: null },
      });
      const events = (await eventsOf(db, id)).map(({ event }) => event);
      expect(events.filter((event) => event === "reaped")).toHaveLength(1);
      expect(new Set(events)).toEqual(new Set(["reaped", "refused"]));
      expect(platform.forced).toEqual([]);
    });
  }
});
