import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createLeasehold, defineJob, handle, type Job, type Logger } from "../../src/index.ts";
import { age } from "../support/ageing.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, counts } from "./support/client.ts";

const job = defineJob("job", { key: (payload) => String(payload), maxAttempts: 2, backoff: [0] });

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterAll(() => db.close());

/** What a handler does, by its payload. */
const acts: Record<string, (job: Job) => unknown> = {
  completes: () => "well",
  drops: () => 1n,
  fails: () => {
    throw Object.assign(new TypeError("bad"), { code: "BAD" });
  },
  releases: (own) => own.release({ after: "1m", code: "LATER" }),
  cancelled: async (own) => {
    await db.database.call("cancel", { p_id: own.id });
    throw new Error("stopped");
  },
  loses: async (own) => {
    await age(db, own.id, 600_000);
    await db.database.call("claim", { p_kinds: ["job"] });
  },
};

describe("the events of a drain", () => {
  test.each([
    ["completes", "completed", {}],
    ["drops", "completed", { resultDropped: expect.stringMatching(/^result is 1n/) }],
    [
      "fails",
      "failed",
      {
        status: "queued",
        error: {
          code: "BAD",
          message: "bad",
          details: { name: "TypeError", stack: expect.stringContaining("events.test.ts") },
        },
      },
    ],
    ["releases", "released", { code: "LATER", retryAfterMs: 60_000 }],
    ["cancelled", "cancelled", {}],
    ["loses", "lost", {}],
  ] as const)(
    "of a job that %s are started, %s and drained, once each",
    async (act, name, more) => {
      const leasehold = client(
        db.database,
        handle(job, (own) => acts[act]?.(own)),
      );
      const answer = await leasehold.enqueue(job, act);
      const report = await leasehold.drain();
      const about = {
        id: "id" in answer && answer.id,
        kind: "job",
        key: act,
        attempt: 1,
        generation: 1,
      };
      expect(leasehold.told).toEqual([
        { name: "started", event: about },
        { name, event: { ...about, durationMs: expect.any(Number), ...more } },
        { name: "drained", event: report },
      ]);
      expect(report.jobs).toMatchObject([about]);
    },
  );

  test("tell the last failure by its status", async () => {
    const leasehold = client(
      db.database,
      handle(job, (own) => acts.fails?.(own)),
    );
    await leasehold.enqueue(job, "fails");
    await leasehold.drain();
    await leasehold.drain();
    expect(leasehold.toldOf("failed")).toMatchObject([
      { attempt: 1, generation: 1, status: "queued" },
      { attempt: 2, generation: 2, status: "failed" },
    ]);
  });

  test("come in the order of the jobs, each job's end before the next one's start", async () => {
    const leasehold = client(
      db.database,
      handle(job, () => undefined),
    );
    await leasehold.enqueueMany([1, 2].map((payload) => ({ job, payload })));
    await leasehold.drain();
    expect(leasehold.told.map(({ name }) => name)).toEqual([
      "started",
      "completed",
      "started",
      "completed",
      "drained",
    ]);
  });

  test("that a listener throws or rejects at change nothing, and are logged (S31)", async () => {
    const lines: object[] = [];
    const quiet = () => undefined;
    const logger: Logger = {
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (fields) => lines.push(fields),
    };
    const handlers = [handle(job, (own) => acts[own.payload as string]?.(own))];
    const leasehold = createLeasehold({ database: db.database, handlers, logger });
    const names = ["started", "completed", "failed", "released", "drained"] as const;
    for (const name of names) {
      leasehold.on(name, () => {
        throw new Error(`${name} threw`);
      });
      leasehold.on(name, async () => {
        throw new Error(`${name} rejected`);
      });
      leasehold.on(name, () => {
        throw undefined;
      });
    }
    await leasehold.enqueueMany(
      ["completes", "fails", "releases"].map((payload) => ({ job, payload })),
    );
    const report = await leasehold.drain({ maxJobs: 10 });
    expect(report).toMatchObject({ completed: 1, retried: 1, released: 1, reason: "empty" });
    expect(await counts(db)).toEqual({ completed: 1, queued: 2 });
    // Three starts, three ends and one drained, three listeners each.
    expect(lines).toHaveLength(21);
    expect(new Set(lines.map((line) => (line as { event: string }).event))).toEqual(new Set(names));
  });

  test("go on while a listener never answers: nobody waits for it", async () => {
    const leasehold = client(
      db.database,
      handle(job, () => undefined),
    );
    leasehold.on("completed", () => new Promise(() => undefined));
    await leasehold.enqueueMany([1, 2].map((payload) => ({ job, payload })));
    expect(await leasehold.drain()).toMatchObject({ completed: 2 });
  });

  test("reach a listener until it is taken off", async () => {
    const leasehold = client(
      db.database,
      handle(job, () => undefined),
    );
    const seen: string[] = [];
    const off = leasehold.on("started", () => seen.push("on"));
    leasehold.once("started", () => seen.push("once"));
    await leasehold.enqueueMany([1, 2].map((payload) => ({ job, payload })));
    await leasehold.drain();
    off();
    await leasehold.enqueue(job, 3);
    await leasehold.drain();
    expect(seen).toEqual(["on", "once", "on"]);
  });
});
