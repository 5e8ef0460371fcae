import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, type EnqueueOptions, handle } from "../../src/index.ts";
import { eventsOf } from "../drain/support/client.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { assess, type Routes, routes, seen, unknownId } from "./support/routes.ts";

const notices = { en: { failed: "No luck." }, fr: { queued: "En attente." } };
const told = defineJob("told", { notices, maxAttempts: 1 });
const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);

describe.each(backends)("GET /jobs/:id on %s", (backend) => {
  let db: TestDatabase;
  let own: Routes;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
    own = routes(db.database, {
      jobs: [assess, told],
      handlers: [
        handle(told, async (job) => {
          await job.progress({ part: 1 });
          return { safe: true };
        }),
      ],
    });
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  async function enqueued(options: EnqueueOptions = { owner: "ann" }): Promise<string> {
    const answer = await own.leasehold.enqueue(told, { secret: 1 }, options);
    if (answer.outcome !== "created") throw new Error(answer.outcome);
    return answer.id;
  }
  const claimed = () => db.database.call("claim", { p_kinds: ["told"] });

  test("tells the owner how it stands, and nothing of how it is run", async () => {
    const id = await enqueued();
    const asked = await own.ask(`/jobs/${id}`, { user: "ann" });
    expect(asked.status).toBe(200);
    expect(await asked.json()).toEqual({
      ...{ id, status: "queued", progress: null, result: null, errorCode: null },
      ...{ cancelRequested: false, money: null, notice: "queued", message: "Waiting to start." },
      ...{ createdAt: iso, startedAt: null, finishedAt: null },
    });
    await own.leasehold.drain();
    const done = await own.ask(`/jobs/${id}`, { user: "ann" });
    expect(await done.json()).toMatchObject({
      ...{ status: "completed", progress: { part: 1 }, result: { safe: true }, message: "Done." },
      ...{ startedAt: iso, finishedAt: iso },
    });
    expect(Object.fromEntries(done.headers)).toMatchObject({
      "cache-control": "no-store",
      "content-type": "application/json",
      vary: "Accept-Language, Authorization, Cookie",
    });
  });

  test("404 is the same for foreign, ownerless, unknown and malformed ids (S44)", async () => {
    const ids = [await enqueued(), await enqueued({}), unknownId];
    const malformed = [
      "abc",
      "1' or '1'='1",
      unknownId.slice(1),
      `${unknownId} `,
      "a/b",
      "💩",
      "%",
    ];
    for (const [method, rest] of [
      ["GET", ""],
      ["HEAD", ""],
      ["POST", "/cancel"],
    ] as const) {
      const asked = (id: string) =>
        own.ask(`/jobs/${encodeURIComponent(id)}${rest}`, { method, user: "bob" });
      const first = await seen(await asked(unknownId));
      expect(first.status).toBe(404);
      for (const id of [...ids, ...malformed]) {
        expect(await seen(await asked(id)), `${method} ${id}`).toEqual(first);
      }
    }
    expect(await own.leasehold.status(ids[0] as string)).toMatchObject({ status: "queued" });
    expect((await own.ask(`/jobs/${ids[0]}`)).status).toBe(401);
  });

  test("an admin sees the jobs of all", async () => {
    for (const id of [await enqueued(), await enqueued({})]) {
      expect((await own.ask(`/jobs/${id}`, { user: "admin" })).status).toBe(200);
    }
    expect((await own.ask(`/jobs/${unknownId}`, { user: "admin" })).status).toBe(404);
  });

  test("twenty who ask at the same moment for an orphan reap it once", async () => {
    const id = await enqueued();
    await claimed();
    await age(db, id, 301_000);
    const asked = Array.from({ length: 20 }, () => own.ask(`/jobs/${id}`, { user: "ann" }));
    const answers = await Promise.all((await Promise.all(asked)).map((each) => each.json()));
    // Who comes in the very moment of the reap does not wait for it, and still hears of a job that runs.
    for (const answer of answers) {
      expect((answer as { status: string }).status).toMatch(/^(failed|running)$/);
    }
    const after = await own.ask(`/jobs/${id}`, { user: "ann" });
    expect(await after.json()).toMatchObject({ status: "failed", errorCode: "LEASE_EXPIRED" });
    expect((await eventsOf(db, id)).map(({ event }) => event)).toEqual(["reaped"]);
  });

  test("a stranger's request reaps nothing", async () => {
    const id = await enqueued();
    await claimed();
    await age(db, id, 301_000);
    await own.ask(`/jobs/${id}`, { user: "bob" });
    expect(await eventsOf(db, id)).toEqual([]);
  });

  test("If-None-Match is answered by 304 until something changes", async () => {
    const id = await enqueued();
    const asked = (tag: string, method = "GET") =>
      own.ask(`/jobs/${id}`, { method, user: "ann", headers: { "if-none-match": tag } });
    const etag = (await own.ask(`/jobs/${id}`, { user: "ann" })).headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const answer = await asked(tag);
      expect([answer.status, await answer.text()], tag).toEqual([304, ""]);
      expect(answer.headers.get("etag")).toBe(etag);
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    expect((await asked(etag, "HEAD")).status).toBe(304);
    for (const tag of ['"other"', etag.slice(1, -1), `"${etag.slice(2)}`, ""]) {
      expect((await asked(tag)).status, tag).toBe(200);
    }
    await claimed();
    const changed = await asked(etag);
    expect([changed.status, changed.headers.get("etag") === etag]).toEqual([200, false]);
    // Of an id that is not the caller's, not even a tag is compared.
    const foreign = { user: "bob", headers: { "if-none-match": "*" } };
    expect((await own.ask(`/jobs/${id}`, foreign)).status).toBe(404);
  });

  test("HEAD tells the same headers and no body", async () => {
    const path = `/jobs/${await enqueued()}`;
    const get = await seen(await own.ask(path, { user: "ann" }));
    const head = await seen(await own.ask(path, { user: "ann", method: "HEAD" }));
    expect(head).toEqual({ ...get, body: "" });
  });

  test("Retry-After grows with the age of the job, and ends with it", async () => {
    const id = await enqueued();
    const asked = async () =>
      (await own.ask(`/jobs/${id}`, { user: "ann" })).headers.get("retry-after");
    const seconds = [await asked()];
    for (const ms of [40_000, 100_000, 3_600_000, -4_000_000]) {
      await age(db, id, ms);
      seconds.push(await asked());
    }
    // The last is a job of the future, of a database whose clock is ahead.
    expect(seconds).toEqual(["1", "4", "14", "30", "1"]);
    await own.leasehold.cancel(id);
    expect(await asked()).toBeNull();
  });

  test("the message is in the language of the request, in the job's words where it has any", async () => {
    const id = await enqueued();
    const asked = async (language?: string, at = own) => {
      const headers = language === undefined ? {} : { "accept-language": language };
      const answer = await at.ask(`/jobs/${id}`, { user: "ann", headers });
      return ((await answer.json()) as { message: string }).message;
    };
    const [en, ja, fr] = ["Waiting to start.", "開始を待っています。", "En attente."];
    expect(await asked()).toBe(en);
    expect(await asked("ja-JP,ja;q=0.9,en;q=0.8")).toBe(ja);
    expect(await asked("de, JA;q=0.5, en;q=0.4")).toBe(ja);
    expect(await asked("en;q=0.1, fr-CA")).toBe(fr);
    expect(await asked("fr;q=0, ja;q=0.5")).toBe(ja);
    for (const odd of ["*", "de", "", ";;,", "constructor", "__proto__", "ja;q=x", "\u00ff"]) {
      expect(await asked(odd), odd).toBe(en);
    }
    expect(await asked("en", routes(db.database, { language: "ja" }))).toBe(ja);
    await claimed();
    await age(db, id, 301_000);
    // The French has no text for this, so the next wanted language serves.
    expect(await asked("fr, ja;q=0.5")).toBe("処理に失敗しました。");
    expect(await asked("en-GB")).toBe("No luck.");
  });

  test("cancel says what came of it", async () => {
    const id = await enqueued();
    const cancel = async (user: string) => {
      const answer = await own.ask(`/jobs/${id}/cancel`, { method: "POST", user });
      return [answer.status, await answer.json()];
    };
    expect(await cancel("ann")).toEqual([200, { outcome: "cancelled", status: "cancelled" }]);
    expect(await cancel("admin")).toEqual([200, { outcome: "finished", status: "cancelled" }]);
  });

  test("retry is an admin's, and says what is in its way", async () => {
    const id = await enqueued({ owner: "ann", key: "k" });
    const retry = async (user: string, of = id) => {
      const answer = await own.ask(`/jobs/${of}/retry`, { method: "POST", user });
      const { error, ...body } = (await answer.json()) as { error?: { code: string } };
      return [answer.status, error?.code ?? body];
    };
    // The same for a job of one's own, another's and none.
    for (const of of [id, unknownId, "abc"]) {
      expect(await retry("ann", of)).toEqual([403, "FORBIDDEN"]);
    }
    expect(await retry("admin", unknownId)).toEqual([404, "NOT_FOUND"]);
    expect(await retry("admin")).toEqual([409, "WRONG_STATUS"]);
    await own.leasehold.cancel(id);
    const statusUrl = `/api/leasehold/jobs/${id}`;
    const retried = { outcome: "retried", id, status: "queued", statusUrl };
    expect(await retry("admin")).toEqual([200, retried]);
    await own.leasehold.cancel(id);
    await enqueued({ owner: "ann", key: "k" });
    expect(await retry("admin")).toEqual([409, "CONFLICT"]);
  });
});
