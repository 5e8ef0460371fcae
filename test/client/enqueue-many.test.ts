import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createLeasehold, defineJob, type EnqueueItem, type Leasehold } from "../../src/index.ts";
import { counts, rowOf } from "../drain/support/client.ts";
import { untouchable } from "../drain/support/interposed.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

const resize = defineJob("resize", {
  payload: z.object({ image: z.string(), width: z.number().default(100) }),
  key: ({ image, width }) => `${image}@${width}`,
  maxAttempts: 2,
  priority: 9,
});
const notify = defineJob("notify");

describe.each(backends)("enqueueMany on %s", (backend) => {
  let db: TestDatabase;
  let leasehold: Leasehold;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
    leasehold = createLeasehold({ database: db.database });
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test("answers in the order of the items, whose definitions and options all count", async () => {
    const answers = await leasehold.enqueueMany([
      { job: resize, payload: { image: "a" } },
      { job: notify },
      { job: resize, payload: { image: "b" }, owner: "ann", priority: 1, delay: "1h" },
    ]);
    expect(answers.map((answer) => answer.outcome)).toEqual(["created", "created", "created"]);
    const [a, n, b] = await Promise.all(
      answers.map((answer) => rowOf(db, answer.outcome === "created" ? answer.id : "")),
    );
    expect(a).toMatchObject({ kind: "resize", key: "a@100", payload: { image: "a" } });
    expect(a).toMatchObject({ max_attempts: 2, priority: 9, owner: null });
    expect(n).toMatchObject({ kind: "notify", key: null, payload: null, max_attempts: 5 });
    expect(b).toMatchObject({ key: "b@100", owner: "ann", priority: 1 });
    expect(b?.run_after - b?.created_at).toBe(3_600_000);
  });

  test("lets one conflict spoil nothing else, and answers it without an id (S15)", async () => {
    const holder = await leasehold.enqueue(resize, { image: "two" });
    const answers = await leasehold.enqueueMany(
      ["one", "two", "three", "three"].map((image) => ({ job: resize, payload: { image } })),
    );
    const id = (nth: number) => (answers[nth] as { id?: string }).id;
    expect(answers).toEqual([
      { outcome: "created", id: expect.any(String), status: "queued" },
      { outcome: "conflict", holder: { id: "id" in holder && holder.id, status: "queued" } },
      { outcome: "created", id: expect.any(String), status: "queued" },
      { outcome: "conflict", holder: { id: id(2), status: "queued" } },
    ]);
    expect(await counts(db)).toEqual({ queued: 3 });
  });

  test("answers nothing for no items, and takes a thousand at once", async () => {
    expect(await leasehold.enqueueMany([])).toEqual([]);
    const items = Array.from({ length: 1_000 }, (_, i) => ({ job: notify, payload: i }));
    const answers = await leasehold.enqueueMany(items);
    const ids = answers.map((answer) => (answer.outcome === "created" ? answer.id : ""));
    expect(new Set(ids).size).toBe(1_000);
    expect((await rowOf(db, ids[567] ?? "")).payload).toBe(567);
  });

  test("writes nothing when one item is refused", async () => {
    const bad = [
      { job: notify, payload: 1 },
      { job: resize, payload: { image: 5 } },
    ] as unknown as EnqueueItem[];
    await expect(leasehold.enqueueMany(bad)).rejects.toMatchObject({ code: "LH103" });
    expect(await counts(db)).toEqual({});
  });
});

describe("enqueueMany", () => {
  const leasehold = createLeasehold({ database: untouchable });
  const refused = (items: unknown, options?: unknown) =>
    expect(leasehold.enqueueMany(items as EnqueueItem[], options as { tx?: never })).rejects;

  test("refuses what is no list of items without touching the database", async () => {
    for (const items of [undefined, null, "jobs", {}, 5]) {
      await refused(items).toMatchObject({ code: "LH002" });
    }
    for (const item of [undefined, null, "job", 5, [], {}]) {
      await refused([{ job: notify }, item]).toMatchObject({
        code: "LH002",
        message: expect.stringContaining("items[1]"),
      });
    }
  });

  test("names the item that it refuses", async () => {
    const about = (text: string) => ({ message: expect.stringContaining(text) });
    await refused([{ job: notify }, { job: notify, payload: 1n }]).toMatchObject({
      code: "LH103",
      ...about("items[1]: payload is 1n"),
    });
    await refused([{ job: resize, payload: {} }]).toMatchObject({
      code: "LH103",
      ...about("items[0]: payload is not valid: payload.image"),
    });
  });

  test("refuses an option that it does not have, such as a misspelt tx", async () => {
    const items = [{ job: notify }];
    await refused(items, { tX: {} }).toMatchObject({
      code: "LH003",
      message: expect.stringMatching(/enqueueMany has no option "tX".*tx/),
    });
    await refused(items, null).toMatchObject({ code: "LH002" });
    await refused([{ job: notify, tx: {} }]).toMatchObject({ code: "LH003" });
  });
});
