import { describe, expect } from "vitest";
import { counts, eventsOf, rowOf, until } from "../drain/support/client.ts";
import { type Place, testApart } from "./support/place.ts";
import type { Instance } from "./support/platform.ts";
import type { DrainedReport } from "./support/reports.ts";

/** One run of a cron: a drain on this instance, to the end of its invocation. */
async function tick(place: Place, instance: Instance): Promise<DrainedReport> {
  const { response, over } = place.drain(instance);
  const { body } = await response;
  await over;
  return body;
}

const released = ["released", "BUDGET_EXCEEDED"];
const failed = ["failed", "BUDGET_EXCEEDED"];

describe("a function that may run for 5 s, with a budget of 4 s", () => {
  testApart(
    "gives back what it can't finish, the attempt not counted, and the next goes on behind it",
    {},
    async (place, db) => {
      const [long = "", behind = ""] = await place.enqueue(
        { does: "steps", ms: 1_500, times: 3 },
        { does: "rests", ms: 10 },
      );
      const instance = await place.platform.start();
      expect(await tick(place, instance)).toMatchObject({
        reason: "budget",
        processed: 1,
        jobs: [{ id: long, outcome: "released", code: "BUDGET_EXCEEDED" }],
      });
      expect(await rowOf(db, long)).toMatchObject({
        ...{ status: "queued", attempts: 0, generation: 1, lease_until: null },
        ...{ releases: 1, budget_releases: 1, last_error_code: "BUDGET_EXCEEDED" },
      });
      // It claimed nothing with less than the reserve left.
      expect(await rowOf(db, behind)).toMatchObject({ status: "queued", generation: 0 });
      expect(await tick(place, instance)).toMatchObject({ reason: "empty", completed: 2 });
      // Two steps of the first run, and the third of the second.
      expect(await rowOf(db, long)).toMatchObject({
        ...{ status: "completed", attempts: 1, generation: 2, result: [1, 1, 2] },
      });
      expect(place.platform.forced).toEqual([]);
    },
  );

  for (const [how, bad] of [
    ["stops only when it is told to", { does: "endless", maxAttempts: 5 }],
    ["ignores that it is told to stop", { does: "deaf", maxAttempts: 1 }],
    ["blocks its process in slices of 20 ms", { does: "blocks", ms: 20, maxAttempts: 1 }],
  ] as const) {
    testApart(
      `a job that ${how} fails an attempt at its fifth release, and starves nobody`,
      {},
      async (place, db) => {
        const [id = ""] = await place.enqueue(bad);
        const others = await place.enqueue(...Array(12).fill({ does: "rests", ms: 10 }));
        const instance = await place.platform.start();
        const ends: DrainedReport["jobs"][number][] = [];
        while (ends.length < 5) {
          const { jobs } = await tick(place, instance);
          ends.push(...jobs.filter((job) => job.id === id));
        }
        expect(place.platform.forced).toEqual([]);
        const last = bad.maxAttempts === 1 ? failed : ["retried", "BUDGET_EXCEEDED"];
        expect(ends.map(({ outcome, code }) => [outcome, code])).toEqual([
          ...[released, released, released, released],
          last,
        ]);
        // What was released took no attempt: the fifth is the first that counts.
        expect(await rowOf(db, id)).toMatchObject({
          ...{ attempts: 1, generation: 5, releases: 4, budget_releases: 0, lease_until: null },
          status: bad.maxAttempts === 1 ? "failed" : "queued",
          last_error_code: "BUDGET_EXCEEDED",
        });
        expect((await eventsOf(db, id)).map(({ event, code }) => [event, code])).toEqual([
          ...[released, released, released, released],
          failed,
        ]);
        // All others had their turn before it had its second.
        const order = place.platform.toldOf("handled").map((run) => run.id);
        expect(order.slice(0, 14)).toEqual([id, ...others, id]);
        expect(await counts(db)).toMatchObject({ completed: 12 });
      },
    );
  }
});

describe("requests that ask an instance to drain while it drains", () => {
  testApart(
    "are over within their own limit, however late the last of them comes",
    { maxJobs: 2 },
    async (place, db) => {
      const { platform } = place;
      const [, last = ""] = await place.enqueue({ does: "rests", ms: 2_500 }, { does: "waits" });
      const instance = await platform.start();
      const drains = [place.drain(instance, { wait: false })];
      await until(() => platform.toldOf("handled").length === 1, "the first drain runs");
      drains.push(place.drain(instance, { wait: false }));
      await until(
        () => platform.toldOf("middle").length === 1,
        "the first drain is at its last job",
      );
      // The second request is half through its limit when the third one comes, and joins it.
      drains.push(place.drain(instance, { wait: false }));
      await Promise.all(drains.map(({ begun }) => begun));
      const [endless = ""] = await place.enqueue({ does: "endless" });
      instance.say(`${last}.1`);
      await Promise.all(drains.map(({ over }) => over));
      expect(platform.forced).toEqual([]);
      expect(await rowOf(db, endless)).toMatchObject({
        ...{ status: "queued", generation: 1, attempts: 0, last_error_code: "BUDGET_EXCEEDED" },
      });
    },
  );
});
