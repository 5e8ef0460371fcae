import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { aborted, client, deferred, rowOf, until } from "../drain/support/client.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

const assess = defineJob("assess", { key: () => "k", lease: "10s" });

describe.each(backends)("start on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  const ended = (id: string) =>
    until(async () => {
      const row = await rowOf(db, id);
      return row.finished_at === null ? undefined : row;
    }, "the end of the job").then((row) => row ?? {});

  test("answers before the work begins, and the work ends by itself", async () => {
    const began = vi.fn();
    const leasehold = client(
      db.database,
      handle(assess, () => {
        began();
        return { safe: true };
      }),
    );
    const started = await leasehold.start(assess, {});
    expect(began).not.toHaveBeenCalled();
    if (started.outcome !== "created") throw new Error(started.outcome);
    const row = await ended(started.id);
    expect(row).toMatchObject({ status: "completed", result: { safe: true }, attempts: 1 });
    expect(row).toMatchObject({ max_attempts: 1, generation: 1, start_within_ms: 10_000 });
    expect(row.worker).toMatch(/^start-/);
    expect(Date.parse(row.timeout_at) - Date.parse(row.claimed_at)).toBe(300_000);
    await leasehold.close();
  });

  test("a second start on the key is a conflict, and runs nothing", async () => {
    const { promise, resolve } = deferred();
    const began = vi.fn();
    const leasehold = client(
      db.database,
      handle(assess, () => {
        began();
        return promise;
      }),
    );
    const first = await leasehold.start(assess, {});
    const second = await leasehold.start(assess, {});
    expect(second).toMatchObject({ outcome: "conflict" });
    resolve();
    if (first.outcome !== "created") throw new Error(first.outcome);
    await ended(first.id);
    expect(began).toHaveBeenCalledTimes(1);
    await leasehold.close();
  });

  test("a failure is final: one attempt", async () => {
    const leasehold = client(
      db.database,
      handle(assess, () => {
        throw new Error("the model is away");
      }),
    );
    const started = await leasehold.start(assess, {});
    if (started.outcome !== "created") throw new Error(started.outcome);
    expect(await ended(started.id)).toMatchObject({
      status: "failed",
      last_error_message: "the model is away",
    });
    await leasehold.close();
  });

  test('startIn "worker" is the one change: it waits for a worker, with all its attempts', async () => {
    const later = defineJob("assess", { key: () => "k", startIn: "worker" });
    const began = vi.fn();
    const leasehold = client(db.database, handle(later, began));
    const started = await leasehold.start(later, {});
    if (started.outcome !== "created") throw new Error(started.outcome);
    expect(await rowOf(db, started.id)).toMatchObject({ status: "queued", max_attempts: 5 });
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    expect(began).toHaveBeenCalledTimes(1);
    await leasehold.close();
  });

  test("close ends what is in hand: the job fails and says why", async () => {
    const running = deferred();
    const leasehold = createLeasehold({
      database: db.database,
      handlers: [
        handle(assess, async ({ signal }) => {
          running.resolve();
          throw await aborted(signal);
        }),
      ],
      grace: 100,
    });
    const started = await leasehold.start(assess, {});
    if (started.outcome !== "created") throw new Error(started.outcome);
    await running.promise;
    await leasehold.close();
    expect(await rowOf(db, started.id)).toMatchObject({
      status: "failed",
      last_error_code: "SHUTDOWN",
    });
    await expect(leasehold.start(assess, {})).rejects.toMatchObject({ code: "LH109" });
  });

  test("writes nothing where the work would be cut off", async () => {
    const leasehold = createLeasehold({
      database: db.database,
      handlers: [handle(assess, () => 1)],
      keepAlive: () => {
        throw new Error("not inside a request");
      },
    });
    await expect(leasehold.start(assess, {})).rejects.toThrow("not inside a request");
    const foreign = defineJob("foreign");
    await expect(leasehold.start(foreign, {})).rejects.toMatchObject({ code: "LH105" });
    expect(await db.query(`select from ${db.quotedSchema}.jobs`)).toEqual([]);
  });

  test("raises on Vercel where nothing keeps the function alive", async () => {
    vi.stubEnv("VERCEL", "1");
    try {
      const leasehold = client(
        db.database,
        handle(assess, () => 1),
      );
      await expect(leasehold.start(assess, {})).rejects.toMatchObject({ code: "LH109" });
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
