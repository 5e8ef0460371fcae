import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { accessOf } from "../../src/client-access.ts";
import { defineJob, handle } from "../../src/index.ts";
import type { JoinedDrains } from "../../src/joined-drains.ts";
import { drainAfter } from "../../src/next/index.ts";
import { counts, deferred, until } from "../drain/support/client.ts";
import { failing } from "../drain/support/interposed.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { routes, secret } from "./support/routes.ts";
import { serve } from "./support/server.ts";

const job = defineJob("job");
type Report = { reason: string; processed: number };
const bearer = { authorization: `Bearer ${secret}` };

describe.each(backends)("/drain on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  /** Routes over jobs that were enqueued; without `run` a job does nothing. */
  async function queue(count: number, run: () => unknown = () => 1, given = {}) {
    const own = routes(db.database, { jobs: [], handlers: [handle(job, run)], ...given });
    await own.leasehold.enqueueMany(Array.from({ length: count }, () => ({ job })));
    return own;
  }

  test("runs for nobody but who brings the secret", async () => {
    const ran = vi.fn();
    const { ask } = await queue(1, ran);
    const wrong = ["", secret, "Bearer", "Bearer ", `Bearer ${secret}x`, `Bearer x${secret}`];
    wrong.push(`Bearer ${secret.slice(1)}`, `Basic ${secret}`, `Bearer ${secret.toUpperCase()}`);
    for (const authorization of [undefined, ...wrong]) {
      for (const method of ["GET", "POST"]) {
        const headers = authorization === undefined ? {} : { authorization };
        // Not even an admin's cookies will do: pages of others could use them.
        const refused = await ask("/drain?wait=1", { method, headers, user: "admin" });
        expect(refused.status, authorization).toBe(401);
        expect(refused.headers.get("www-authenticate")).toBe("Bearer");
      }
    }
    expect((await ask("/drain?wait=1", { method: "HEAD", headers: bearer })).status).toBe(405);
    expect(ran).not.toHaveBeenCalled();
    const headers = { ...bearer, origin: "https://cron.example" };
    expect((await ask("/drain?wait=1", { method: "POST", headers })).status).toBe(200);
    expect(ran).toHaveBeenCalledTimes(1);
  });

  test("is closed where no secret is configured, or one that is short or blank", async () => {
    const given = [undefined, "", " ", "123456789012345", "secret".padEnd(20), "0"];
    for (const configured of given) {
      const { ask } = await queue(0, undefined, { secret: configured });
      for (const token of ["", " ", "undefined", "null", String(configured)]) {
        const headers = { authorization: `Bearer ${token}` };
        const refused = await ask("/drain", { headers });
        expect(refused.status, String(configured)).toBe(403);
        const { error } = (await refused.json()) as { error: { code: string; message: string } };
        expect(error.code).toBe("CLOSED");
        expect(error.message).toMatch(/CRON_SECRET.*at least 16 characters/);
      }
    }
    const { ask } = await queue(0, undefined, { secret: "1234567890123456" });
    const headers = { authorization: "Bearer 1234567890123456" };
    expect((await ask("/drain?wait=1", { headers })).status).toBe(200);
  });

  test("leaves its report for the overview, under the name of its trigger", async () => {
    const { ask } = await queue(1);
    const headers = bearer;
    await ask("/drain?wait=1", { headers });
    await ask("/drain?wait=1&trigger=cron", { headers });
    const { drains } = (await db.database.call("overview", {})) as { drains: object[] };
    expect(drains).toMatchObject([
      { trigger: "cron", report: { processed: 0, reason: "empty" } },
      { trigger: "http", report: { processed: 1, completed: 1 } },
    ]);
    expect(JSON.stringify(drains)).not.toContain("jobs");
    for (const trigger of ["", "%20", "x".repeat(101), "a%00"]) {
      expect((await ask(`/drain?wait=1&trigger=${trigger}`, { headers })).status).toBe(400);
    }
  });

  test("is done all the same where its report can't be noted, and that is told", async () => {
    const own = routes(failing(db.database, "note_drain"), {
      ...{ jobs: [], handlers: [handle(job, () => 1)] },
    });
    await own.leasehold.enqueue(job);
    const answer = await own.ask("/drain?wait=1", { headers: bearer });
    expect([answer.status, ((await answer.json()) as Report).processed]).toEqual([200, 1]);
    expect(own.leasehold.toldOf("error")).toMatchObject([{ during: "request" }]);
  });

  test("takes CRON_SECRET as it is at the request", async () => {
    const { ask } = await queue(0, undefined, { secret: undefined });
    try {
      vi.stubEnv("CRON_SECRET", "of the cron of this app");
      const headers = { authorization: "bearer of the cron of this app" };
      expect((await ask("/drain?wait=1", { headers })).status).toBe(200);
      vi.stubEnv("CRON_SECRET", "of the cron of another");
      expect((await ask("/drain?wait=1", { headers })).status).toBe(401);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test("answers 202 at once, and works on behind it", async () => {
    const { promise, resolve } = deferred();
    const { ask, leasehold } = await queue(2, () => promise);
    const answer = await ask("/drain", { headers: bearer });
    expect([answer.status, await answer.json()]).toEqual([202, { outcome: "started" }]);
    expect(leasehold.toldOf("completed")).toEqual([]);
    resolve();
    await until(() => leasehold.toldOf("drained").length === 1, "the end of the drain");
    expect(await counts(db)).toEqual({ completed: 2 });
  });

  test("gives the work to keepAlive, and does none by itself", async () => {
    const tasks: (() => Promise<void>)[] = [];
    const ran = vi.fn();
    const keepAlive = (task: () => Promise<void>) => void tasks.push(task);
    const { ask } = await queue(1, ran, { keepAlive });
    expect((await ask("/drain", { method: "POST", headers: bearer })).status).toBe(202);
    expect([tasks.length, await counts(db)]).toEqual([1, { queued: 1 }]);
    await tasks[0]?.();
    expect(ran).toHaveBeenCalledTimes(1);
    // Where it can't, nothing was begun, and the caller hears of it.
    const refusing = await queue(1, ran, { keepAlive: () => Promise.reject(new Error("frozen")) });
    expect((await refusing.ask("/drain", { headers: bearer })).status).toBe(500);
    expect(await counts(db)).toEqual({ completed: 1, queued: 1 });
  });

  test("waits on Vercel, where nothing keeps the function alive", async () => {
    vi.stubEnv("VERCEL", "1");
    try {
      const { ask } = await queue(1);
      const answer = await ask("/drain", { headers: bearer });
      expect([answer.status, await counts(db)]).toEqual([200, { completed: 1 }]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test("?wait=1 answers what was done, and nothing of payloads and messages", async () => {
    const fail = () => {
      throw Object.assign(new Error("select secret from t"), { code: "23505" });
    };
    const { ask } = await queue(1, fail, { drain: { maxJobs: 1 } });
    const answer = await ask("/drain?wait=1", { headers: bearer });
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    const durationMs = expect.any(Number);
    expect(await answer.json()).toEqual({
      ...{ reason: "maxJobs", processed: 1, completed: 0, failed: 0, retried: 1, released: 0 },
      ...{ cancelled: 0, lost: 0, unrecorded: 0, durationMs },
      jobs: [{ id, kind: "job", outcome: "retried", code: "23505", durationMs }],
    });
  });

  test("a database that is away is told to who waits by 503, else to the log", async () => {
    const broken = () =>
      routes(failing(db.database, "claim"), { handlers: [handle(job, () => 1)] });
    const waiting = broken();
    const answer = await waiting.ask("/drain?wait=1", { headers: bearer });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "5"]);
    const { ask, leasehold } = broken();
    expect((await ask("/drain", { headers: bearer })).status).toBe(202);
    await until(() => leasehold.toldOf("error").length === 1, "the event");
    expect(leasehold.toldOf("error")).toMatchObject([{ during: "request" }]);
  });

  test("a process runs one at a time: who asks meanwhile joins the next", async () => {
    const gate = deferred();
    let running = 0;
    const run = async () => {
      running += 1;
      expect(running).toBe(1);
      await gate.promise;
      running -= 1;
    };
    const { ask, leasehold } = await queue(12, run, { drain: { maxJobs: 2 } });
    const asked = vi.spyOn(accessOf(leasehold)?.drains as JoinedDrains, "run");
    const drain = async () =>
      (await ask("/drain?wait=1", { headers: bearer })).json() as Promise<Report>;
    const first = drain();
    await until(() => running === 1, "the first job");
    const others = [drain(), drain(), drain()];
    await drainAfter(leasehold, { maxJobs: 2 });
    await until(() => asked.mock.calls.length === 5, "all have asked");
    gate.resolve();
    expect(await first).toMatchObject({ reason: "maxJobs", processed: 2 });
    const none = { reason: "joined", processed: 0, completed: 0, jobs: [], durationMs: 0 };
    const answers = await Promise.all(others);
    await until(() => leasehold.toldOf("drained").length === 2, "both drains");
    expect(leasehold.toldOf("drained").map(({ processed }) => processed)).toEqual([2, 8]);
    // One of the four has the report of their drain; where that is the one behind an answer, no other.
    const led = answers.filter(({ reason }) => reason !== "joined");
    expect(led.length).toBeLessThanOrEqual(1);
    for (const answer of led) expect(answer).toMatchObject({ reason: "maxJobs", processed: 8 });
    for (const answer of answers) if (answer !== led[0]) expect(answer).toMatchObject(none);
    expect(await counts(db)).toEqual({ completed: 10, queued: 2 });
  });

  test("?linger goes on looking for what a burst brings", async () => {
    const { ask, leasehold } = await queue(1, () => 1);
    const lingering = ask("/drain?wait=1&linger=5s", { headers: bearer });
    await until(async () => (await counts(db)).completed === 1, "the first job");
    await leasehold.enqueueMany([{ job }, { job }]);
    expect(await (await lingering).json()).toMatchObject({ reason: "maxJobs", processed: 3 });
    for (const linger of ["11s", "soon", "-1", ""]) {
      const refused = await ask(`/drain?wait=1&linger=${linger}`, { headers: bearer });
      expect(refused.status, linger).toBe(400);
      const { error } = (await refused.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("BAD_QUERY");
      expect(error.message).toMatch(/^linger is /);
    }
  });

  test("several processes share the jobs, and one whose client left works on (S45)", async () => {
    const ran: string[] = [];
    const all = deferred();
    // The first five are held until five drains work at the same moment.
    const run = async ({ id }: { id: string }) => {
      ran.push(id);
      if (ran.length === 5) all.resolve();
      await all.promise;
    };
    const given = { drain: { budget: "60s", maxJobs: 3 } };
    await queue(30);
    const processes = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const own = await queue(0, run as () => unknown, given);
        return { ...own, ...(await serve(own.handler.fetch)) };
      }),
    );
    const leaving = new AbortController();
    const drain = (i: number) =>
      fetch(`${processes[i]?.url}/api/leasehold/drain?wait=1`, {
        method: i % 2 === 0 ? "GET" : "POST",
        headers: bearer,
        ...(i === 0 && { signal: leaving.signal }),
      });
    const drained = () => processes.flatMap(({ leasehold }) => leasehold.toldOf("drained"));
    const left = drain(0).catch((error: Error) => error.name);
    await until(() => ran.length === 1, "the job of the one that leaves");
    leaving.abort();
    expect(await left).toBe("AbortError");
    const four = await Promise.all([1, 2, 3, 4].map(drain));
    for (const answer of four) expect(await answer.json()).toMatchObject({ processed: 3 });
    await until(() => drained().length === 5, "the end of the one that left");
    expect(await counts(db)).toEqual({ completed: 15, queued: 15 });
    while ((await counts(db)).queued) await drain(1);
    const processed = drained().map((report) => report.processed);
    expect(processed.reduce((sum, each) => sum + each)).toBe(30);
    expect([ran.length, new Set(ran).size]).toEqual([30, 30]);
    await Promise.all(processes.map(({ close }) => close()));
  });
});
