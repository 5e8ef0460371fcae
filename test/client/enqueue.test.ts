import * as v from "valibot";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { createLeasehold, defineJob, handle } from "../../src/index.ts";
import { client, rowOf } from "../drain/support/client.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";

const input = { emailId: "1b4e28ba-2fa1-41d2-883f-0016d3cca427", at: "2030-01-31" };

const fetchEmail = defineJob("fetch_email", {
  payload: z.object({ emailId: z.uuid(), at: z.iso.date().transform((text) => new Date(text)) }),
  key: (payload) => `${payload.emailId}/${payload.at.getUTCFullYear()}`,
});

const parseEmail = defineJob("parse_email", {
  payload: v.object({
    emailId: v.pipe(v.string(), v.uuid()),
    tries: v.optional(v.number(), 3),
  }),
});

describe.each(backends)("enqueue on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  const made = async (answer: { outcome: string; id?: string }) => {
    expect(answer.outcome).toBe("created");
    return rowOf(db, String(answer.id));
  };

  test("stores what the caller gave, and hands the handler what the schema made of it", async () => {
    let given: unknown;
    const leasehold = client(
      db.database,
      handle(fetchEmail, (job) => {
        given = job.payload.at;
      }),
    );
    const row = await made(await leasehold.enqueue(fetchEmail, input));
    expect(row).toMatchObject({ payload: input, key: `${input.emailId}/2030`, status: "queued" });
    expect(await leasehold.drain()).toMatchObject({ completed: 1 });
    expect(given).toEqual(new Date("2030-01-31"));
  });

  test("takes Valibot as well as Zod, and applies its defaults for the handler alone", async () => {
    let given: unknown;
    const leasehold = client(
      db.database,
      handle(parseEmail, (job) => {
        given = job.payload;
      }),
    );
    const row = await made(await leasehold.enqueue(parseEmail, { emailId: input.emailId }));
    expect(row.payload).toEqual({ emailId: input.emailId });
    await leasehold.drain();
    expect(given).toEqual({ emailId: input.emailId, tries: 3 });
  });

  test("takes any payload without a schema, and null for none (S11)", async () => {
    const leasehold = createLeasehold({ database: db.database });
    const free = defineJob("free");
    expect((await made(await leasehold.enqueue(free))).payload).toBeNull();
    expect((await made(await leasehold.enqueue(free, undefined))).payload).toBeNull();
    expect((await made(await leasehold.enqueue(free, 0))).payload).toBe(0);
    const dated = await made(await leasehold.enqueue(free, { at: new Date(0), gone: undefined }));
    expect(dated.payload).toEqual({ at: "1970-01-01T00:00:00.000Z" });
    const emoji = `${"a".repeat(10_000)}\u{1F600}`;
    expect((await made(await leasehold.enqueue(free, { emoji }))).payload).toEqual({ emoji });
  });

  test("writes every option where it belongs", async () => {
    const leasehold = createLeasehold({ database: db.database });
    const job = defineJob("options", { priority: 3, maxAttempts: 7, startWithin: "1h" });
    const own = await made(await leasehold.enqueue(job, {}));
    expect(own).toMatchObject({ priority: 3, max_attempts: 7, start_within_ms: 3_600_000 });
    expect(own).toMatchObject({ key: null, owner: null });

    const row = await made(
      await leasehold.enqueue(
        job,
        {},
        {
          key: "k",
          owner: "ann",
          priority: -5,
          delay: "1.5m",
          startWithin: 250,
          maxAttempts: 1,
        },
      ),
    );
    expect(row).toMatchObject({ key: "k", owner: "ann", priority: -5, max_attempts: 1 });
    expect(row.start_within_ms).toBe(250);
    expect(row.run_after - row.created_at).toBe(90_000);
    expect(row.start_by - row.run_after).toBe(250);

    const runAfter = new Date("2040-01-01T00:00:00Z");
    for (const moment of [runAfter, "2040-01-01T01:00:00+01:00", "2040-01-01 00:00Z"]) {
      const timed = await made(await leasehold.enqueue(job, {}, { runAfter: moment }));
      expect(timed.run_after).toEqual(runAfter);
    }
  });

  test("takes the key of the option, then of the definition; null and undefined mean none (S16)", async () => {
    const leasehold = createLeasehold({ database: db.database });
    const job = defineJob("keyed", { key: (payload) => payload as string | null });
    expect((await made(await leasehold.enqueue(job, "a"))).key).toBe("a");
    expect((await made(await leasehold.enqueue(job, "a", { key: "b" }))).key).toBe("b");
    expect((await made(await leasehold.enqueue(job, "a", { key: null }))).key).toBeNull();
    expect((await made(await leasehold.enqueue(job, null))).key).toBeNull();
    expect((await made(await leasehold.enqueue(job, null))).key).toBeNull();
    expect((await made(await leasehold.enqueue(job, "null"))).key).toBe("null");
  });

  test("answers a conflict without an id, and the holder's only to its owner (S17)", async () => {
    const leasehold = createLeasehold({ database: db.database });
    const job = defineJob("busy");
    const first = await leasehold.enqueue(job, 1, { key: "k", owner: "ann" });
    const again = await leasehold.enqueue(job, 2, { key: "k", owner: "ann" });
    if (first.outcome !== "created") throw new Error(first.outcome);
    expect(again).toEqual({ outcome: "conflict", holder: { id: first.id, status: "queued" } });
    const stranger = await leasehold.enqueue(job, 3, { key: "k", owner: "bob" });
    expect(stranger).toEqual({ outcome: "conflict", holder: { id: null, status: "queued" } });
    expect((await rowOf(db, first.id)).payload).toBe(1);
  });

  test("answers replaced, rerun and duplicate with the id of the job that it is", async () => {
    const leasehold = createLeasehold({ database: db.database });
    const job = defineJob("again", { key: () => "k" });
    const first = await leasehold.enqueue(job, 1);
    const id = (await made(first)).id;
    expect(await leasehold.enqueue(job, 2, { onConflict: "replace" })).toEqual({
      outcome: "replaced",
      id,
      status: "queued",
    });
    expect((await rowOf(db, id)).payload).toBe(2);
    await db.database.call("claim", { p_kinds: ["again"] });
    expect(await leasehold.enqueue(job, 3, { onConflict: "rerun" })).toEqual({
      outcome: "rerun",
      id,
      status: "running",
    });
    const once = { key: null, once: "mail-1", onceFor: "1h" } as const;
    const original = (await made(await leasehold.enqueue(job, 4, once))).id;
    expect(await leasehold.enqueue(job, 5, once)).toEqual({
      outcome: "duplicate",
      id: original,
      status: "queued",
    });
  });

  test("refuses options that contradict each other, by their names", async () => {
    const leasehold = createLeasehold({ database: db.database });
    const job = defineJob("together");
    const refused = async (options: object, message: RegExp) =>
      expect(leasehold.enqueue(job, {}, options)).rejects.toMatchObject({
        code: "LH002",
        message: expect.stringMatching(message),
      });
    await refused({ delay: 1, runAfter: new Date() }, /delay/);
    await refused({ onceFor: 1 }, /once_?for/i);
    await refused({ onConflict: "replace" }, /on_?conflict/i);
    await refused({ runAfter: "2030-13-41T99:00:00Z" }, /run_?after/i);
    await refused({ runAfter: new Date(8.64e15) }, /run_?after/i);
    expect(await db.value(`select count(*)::int from ${db.quotedSchema}.jobs`)).toBe(0);
  });
});
