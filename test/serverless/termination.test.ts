import { describe, expect } from "vitest";
import { counts, rowOf, until } from "../drain/support/client.ts";
import type { TestDatabase } from "../support/databases.ts";
import { testApart } from "./support/place.ts";

const untouched = { status: "queued", attempts: 0, generation: 0 };

/** No lease stands that nobody keeps. */
async function leases(db: TestDatabase): Promise<unknown> {
  return db.value("select count(*) from leasehold.jobs where lease_until is not null");
}

describe("SIGTERM to an instance that drains", () => {
  testApart(
    "claims nothing more, finishes the job in hand, and reports so",
    {},
    async (place, db) => {
      const { platform } = place;
      const [inHand = "", next = ""] = await place.enqueue({ does: "waits" }, { does: "rests" });
      const instance = await platform.start();
      const { response } = place.drain(instance);
      await until(() => platform.toldOf("middle").length === 1, "the job is in its middle");
      const end = instance.terminate();
      await until(() => platform.toldOf("ending").length === 1, "SIGTERM has come");
      instance.say(`${inHand}.1`);
      expect((await response).body).toMatchObject({ reason: "sigterm", completed: 1 });
      await end;
      expect(await rowOf(db, inHand)).toMatchObject({ status: "completed", attempts: 1 });
      expect(await rowOf(db, next)).toMatchObject(untouched);
      expect(await leases(db)).toBe(0);
      expect(platform.forced).toEqual([]);
    },
  );

  testApart(
    "gives the job in hand back within the grace, where it can't end by then",
    { budgetMs: 30_000, limitMs: 40_000, graceMs: 8_000 },
    async (place, db) => {
      const { platform } = place;
      const [inHand = "", next = ""] = await place.enqueue({ does: "endless" }, { does: "rests" });
      const instance = await platform.start();
      const { response } = place.drain(instance);
      await until(() => platform.toldOf("handled").length === 1, "the job runs");
      await instance.terminate();
      expect(platform.forced).toEqual([]);
      expect((await response).body).toMatchObject({ reason: "sigterm", released: 1 });
      expect(await rowOf(db, inHand)).toMatchObject({
        ...{ status: "queued", attempts: 0, generation: 1, last_error_code: "SHUTDOWN" },
      });
      expect(await rowOf(db, next)).toMatchObject(untouched);
      expect(await leases(db)).toBe(0);
    },
  );

  testApart(
    "claims nothing more for those who wait for the next drain either",
    {},
    async (place, db) => {
      const { platform } = place;
      const [inHand = ""] = await place.enqueue({ does: "waits" });
      const instance = await platform.start();
      const drains = [place.drain(instance)];
      await until(() => platform.toldOf("middle").length === 1, "the job is in its middle");
      drains.push(place.drain(instance), place.drain(instance));
      await Promise.all(drains.map(({ begun }) => begun));
      await place.enqueue(...Array(5).fill({ does: "rests" }));
      const end = instance.terminate();
      await until(() => platform.toldOf("ending").length === 1, "SIGTERM has come");
      instance.say(`${inHand}.1`);
      await end;
      expect(await counts(db)).toEqual({ completed: 1, queued: 5 });
      expect(platform.toldOf("handled")).toHaveLength(1);
      expect(platform.forced).toEqual([]);
    },
  );
});
