import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  createLeasehold,
  defineJob,
  type EnqueueOptions,
  handle,
  type Leasehold,
} from "../../src/index.ts";
import { client, rowOf } from "../drain/support/client.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

const assess = defineJob("assess", { maxAttempts: 1 });
const unknownId = "0198a0b4-0000-7000-8000-000000000000";
const malformed = ["abc", "", "1' or '1'='1", unknownId.slice(1), `${unknownId} `, "\0", "💩"];

describe.each(backends)("on %s", (backend) => {
  let db: TestDatabase;
  let leasehold: Leasehold;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
    leasehold = createLeasehold({ database: db.database, housekeeping: false });
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  async function enqueued(options: EnqueueOptions = {}): Promise<string> {
    const answer = await leasehold.enqueue(assess, {}, options);
    if (answer.outcome !== "created") throw new Error(answer.outcome);
    return answer.id;
  }

  const claimed = async () => db.database.call("claim", { p_kinds: ["assess"] });

  test("status tells a job in the words of TypeScript, and nothing of its payload", async () => {
    const id = await enqueued({ owner: "ann", key: "k" });
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/);
    expect(await leasehold.status(id)).toEqual({
      id,
      kind: "assess",
      status: "queued",
      attempts: 0,
      maxAttempts: 1,
      generation: 0,
      progress: null,
      result: null,
      errorCode: null,
      cancelRequested: false,
      money: null,
      notice: "queued",
      createdAt: iso,
      startedAt: null,
      finishedAt: null,
    });
    const running = client(
      db.database,
      handle(assess, async (job) => {
        await job.progress({ done_pages: 1 });
        return { page_count: 2 };
      }),
    );
    await running.drain();
    expect(await leasehold.status(id.toUpperCase())).toMatchObject({
      status: "completed",
      progress: { done_pages: 1 },
      result: { page_count: 2 },
      startedAt: iso,
      finishedAt: iso,
    });
  });

  test("status reaps an orphan, so that whoever waits for a job also cleans up", async () => {
    const id = await enqueued();
    await claimed();
    await age(db, id, 301_000);
    expect(await leasehold.status(id)).toMatchObject({
      status: "failed",
      errorCode: "LEASE_EXPIRED",
    });
  });

  test("cancel ends a queued job, asks a running one, and comes too late for a finished one", async () => {
    const id = await enqueued();
    expect(await leasehold.cancel(id)).toEqual({ outcome: "cancelled", status: "cancelled" });
    expect(await leasehold.cancel(id)).toEqual({ outcome: "finished", status: "cancelled" });
    const other = await enqueued();
    await claimed();
    expect(await leasehold.cancel(other)).toEqual({ outcome: "requested", status: "running" });
    expect(await leasehold.status(other)).toMatchObject({ cancelRequested: true });
  });

  test("retry brings a cancelled job back, and says what is in its way", async () => {
    const id = await enqueued({ key: "k" });
    expect(await leasehold.retry(id)).toEqual({ outcome: "wrong_status", id, status: "queued" });
    await leasehold.cancel(id);
    expect(await leasehold.retry(id)).toEqual({ outcome: "retried", id, status: "queued" });
    await leasehold.cancel(id);
    await enqueued({ key: "k" });
    expect(await leasehold.retry(id)).toMatchObject({ outcome: "conflict" });
    expect((await rowOf(db, id)).status).toBe("cancelled");
  });

  test("another owner's job is answered like one that does not exist (S44)", async () => {
    const id = await enqueued({ owner: "ann" });
    const ownerless = await enqueued();
    for (const foreign of [id, ownerless, unknownId, ...malformed]) {
      const bob = { owner: "bob" };
      expect(await leasehold.status(foreign, bob), foreign).toBeNull();
      expect(await leasehold.cancel(foreign, bob), foreign).toEqual({
        outcome: "unknown",
        status: null,
      });
      expect(await leasehold.retry(foreign, bob), foreign).toEqual({
        outcome: "unknown",
        id: null,
        status: null,
      });
    }
    expect(await leasehold.status(id, { owner: "ann" })).toMatchObject({ id, status: "queued" });
    expect(await leasehold.cancel(id, { owner: "ann" })).toMatchObject({ outcome: "cancelled" });
    expect(await leasehold.retry(id, { owner: "ann" })).toMatchObject({ outcome: "retried" });
    // Trusted code alone leaves the owner out.
    expect(await leasehold.status(id)).toMatchObject({ id });
  });

  test("what is no id is the id of no job, with or without an owner", async () => {
    for (const id of [unknownId, ...malformed]) {
      expect(await leasehold.status(id)).toBeNull();
      expect(await leasehold.cancel(id)).toMatchObject({ outcome: "unknown" });
      expect(await leasehold.retry(id)).toMatchObject({ outcome: "unknown" });
    }
  });

  test("an owner that is given but missing is a mistake, never everyone's (S16)", async () => {
    const id = await enqueued({ owner: "ann" });
    for (const owner of [undefined, null, "", " ", 5]) {
      const given = { owner } as unknown as { owner: string };
      for (const call of [leasehold.status, leasehold.cancel, leasehold.retry]) {
        await expect(call(id, given)).rejects.toMatchObject({
          code: "LH002",
          message: expect.stringMatching(/^owner is /),
        });
      }
    }
    await expect(leasehold.status(id, { ownr: "ann" } as object)).rejects.toThrow(/ownr.*owner/);
    for (const noText of [undefined, null, 5, {}]) {
      await expect(leasehold.status(noText as unknown as string)).rejects.toThrow(/^id is /);
    }
    expect((await rowOf(db, id)).status).toBe("queued");
  });
});
