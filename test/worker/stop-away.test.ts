import { describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { pg } from "../../src/pg/index.ts";
import { aborted, client, until } from "../drain/support/client.ts";
import { interposed, untouchable } from "../drain/support/interposed.ts";
import { unhandledRejections } from "../drain/support/unhandled.ts";
import { openTestDatabase } from "../support/databases.ts";
import { pass, timed } from "./support/workers.ts";

const job = defineJob("job", { lease: "1m" });

describe("a worker that is stopped while its database", () => {
  const unhandled = unhandledRejections();
  const work = (database: Parameters<typeof client>[0]) =>
    client(
      database,
      handle(job, () => undefined),
    ).work({ signals: false });

  test("is down ends soon (S30)", async () => {
    const database = pg("postgres://127.0.0.1:1/none");
    const leasehold = client(
      database,
      handle(job, () => undefined),
    );
    const worker = leasehold.work({ signals: false });
    await until(() => worker.health().error, "the first failure");
    expect(worker.health()).toMatchObject({ state: "starting", ready: false });
    await until(() => leasehold.toldOf("error").length > 0, "an event");
    await pass(800); // and some tries more
    expect(leasehold.toldOf("error")).toMatchObject([{ during: "beat" }]);
    expect(await timed(() => worker.stop())).toBeLessThan(15_000);
    expect(await worker.ended).toMatchObject({ reason: "stop", processed: 0 });
    await database.close();
  });

  test("never answers ends all the same", async () => {
    const mute = { ...untouchable, call: () => new Promise<never>(() => undefined) };
    expect(await timed(() => work(mute).stop())).toBeLessThan(15_000);
  });

  test("stopped answering, with jobs in hand, ends soon after the grace", async () => {
    const db = await openTestDatabase("postgres");
    let mute = false;
    const database = interposed(db.database, (call) =>
      mute ? new Promise<never>(() => undefined) : call.go(),
    );
    const leasehold = client(
      database,
      handle(job, async ({ payload, signal }) => payload === "waits" && aborted(signal)),
    );
    await leasehold.enqueueMany([{ job, payload: "waits" }]);
    const worker = leasehold.work({ signals: false, grace: 200 });
    await until(() => worker.health().running === 1, "the job");
    mute = true;
    expect(await timed(() => worker.stop())).toBeLessThan(15_000);
    expect(worker.health().state).toBe("stopped");
    await db.close();
  });

  test("lacks the schema has ended by itself, and said why", async () => {
    const db = await openTestDatabase("postgres", { migrated: false });
    const leasehold = client(
      db.database,
      handle(job, () => undefined),
    );
    const worker = leasehold.work({ signals: false });
    await until(() => worker.health().state === "stopped", "its end");
    await expect(worker.ended).rejects.toMatchObject({ code: "LH007" });
    expect(leasehold.toldOf("error")).toMatchObject([{ error: { code: "LH007" } }]);
    expect(await worker.stop()).toMatchObject({ reason: "failed", processed: 0 });
    await leasehold.close();
    await db.close();
  });

  test("does any of this leaves no rejection unhandled", () => {
    expect(unhandled).toEqual([]);
  });
});
