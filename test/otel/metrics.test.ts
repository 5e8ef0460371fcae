import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../src/database.ts";
import { defineJob, handle, PermanentError } from "../../src/index.ts";
import { otel } from "../../src/otel/index.ts";
import { recorded, type TestClient } from "../drain/support/client.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { Sdk } from "./support/sdk.ts";

const job = defineJob("job");
const system = { "messaging.system": "leasehold" };
const ofJobs = { ...system, "messaging.destination.name": "job" };

describe.each(backends)("metrics on %s", (backend) => {
  let db: TestDatabase;
  let sdk: Sdk;
  let leasehold: TestClient;
  /** Called before the database is asked for the state of the queue. */
  let measures: () => void;

  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(async () => {
    await db.reset();
    sdk = new Sdk();
    measures = () => undefined;
    const call: Database["call"] = async (name, args) => {
      if (name === "measures") measures();
      return db.database.call(name, args);
    };
    leasehold = recorded({
      database: { ...db.database, call, close: async () => undefined },
      housekeeping: false,
      handlers: [
        handle(job, (own) => {
          if (own.payload === "fails") throw new PermanentError("no", { code: "NO" });
        }),
      ],
      telemetry: otel({ meterProvider: sdk.meterProvider }),
    });
  });
  afterEach(() => sdk.stop());
  afterAll(() => db.close());

  test("count what is sent, consumed and processed, and how long that takes", async () => {
    await leasehold.enqueueMany([{ job }, { job, payload: "fails" }]);
    await leasehold.enqueue(job);
    await leasehold.drain();
    const enqueue = { "messaging.operation.name": "enqueue", "messaging.operation.type": "send" };
    expect(await sdk.metric("messaging.client.sent.messages")).toEqual({
      unit: "{message}",
      values: [{ attributes: { ...ofJobs, ...enqueue }, value: 3 }],
    });
    const process = {
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
    };
    expect(await sdk.metric("messaging.client.consumed.messages")).toEqual({
      unit: "{message}",
      values: [{ attributes: { ...ofJobs, ...process }, value: 3 }],
    });
    expect(await sdk.metric("messaging.process.duration")).toEqual({
      unit: "s",
      values: [
        { attributes: { ...ofJobs, ...process, "leasehold.outcome": "completed" }, value: 2 },
        {
          attributes: { ...ofJobs, ...process, "leasehold.outcome": "failed", "error.type": "NO" },
          value: 1,
        },
      ],
    });
    const { unit, values } = await sdk.metric("messaging.client.operation.duration");
    expect(unit).toBe("s");
    const times = (name: string, type: string) =>
      values
        .filter(
          ({ attributes }) =>
            attributes["messaging.operation.name"] === name &&
            attributes["messaging.operation.type"] === type,
        )
        .reduce((all, { value }) => all + value, 0);
    expect(times("enqueue", "send")).toBe(2);
    expect(times("claim", "receive")).toBe(3);
    expect(times("finish_many", "settle")).toBe(3);
  });

  test("tell the age and the state of the queue, the leases that ran out and the writes that were refused", async () => {
    const waits = await leasehold.enqueue(job);
    await age(db, "id" in waits ? `${waits.id}` : "", 60_000);
    await leasehold.enqueue(job, {}, { delay: "1h" });
    const gauge = await sdk.metric("leasehold.queue.age");
    expect(gauge).toMatchObject({ unit: "s", values: [{ attributes: ofJobs }] });
    expect(gauge.values[0]?.value).toBeGreaterThanOrEqual(60);
    expect(gauge.values[0]?.value).toBeLessThan(120);
    const state = (name: string, value: number) => ({
      attributes: { ...ofJobs, "leasehold.state": name },
      value,
    });
    expect((await sdk.metric("leasehold.queue.jobs")).values).toEqual([
      state("due", 1),
      state("waiting", 1),
      state("running", 0),
      state("expired", 0),
    ]);

    const lapse = async () => {
      const [claimed] = (await db.database.call("claim", { p_kinds: ["job"] })) as {
        id: string;
        generation: number;
      }[];
      await age(db, claimed?.id ?? "", 600_000);
      await db.database.call("reap", {});
      await db.database.call("complete", { p_id: claimed?.id, p_generation: claimed?.generation });
      await db.query(
        "update leasehold.job_events set at = at - interval '5 seconds' where at > now() - interval '5 seconds'",
      );
      await db.query("update leasehold.jobs set run_after = now()");
    };
    const counted = async () => [
      (await sdk.metric("leasehold.lease.expiries")).values,
      (await sdk.metric("leasehold.writes.refused")).values,
    ];
    const nothing = [{ attributes: ofJobs, value: 0 }];
    expect(await counted()).toEqual([nothing, nothing]);
    await lapse();
    const one = [{ attributes: ofJobs, value: 1 }];
    expect(await counted()).toEqual([one, one]);
  });

  test("stay away when the database does not answer, and are not asked for after the client's end", async () => {
    await leasehold.enqueue(job);
    const collected = async () => (await sdk.metric("leasehold.queue.age")).values.length;
    measures = () => {
      throw new Error("away");
    };
    expect(await collected()).toBe(0);
    let asked = 0;
    measures = () => {
      asked += 1;
    };
    expect(await collected()).toBe(1);
    expect(asked).toBe(1);
    await leasehold.close();
    await collected();
    expect(asked).toBe(1);
  });

  test.each([
    [{ attempts: "parent" }, /^attempts is "parent"/],
    [{ queue: 1 }, /^queue is 1/],
    [{ tracer: {} }, /tracer/],
  ])("options that are wrong are refused by name: %j", (options, message) => {
    expect(() => otel(options as never)).toThrow(message);
  });
});
