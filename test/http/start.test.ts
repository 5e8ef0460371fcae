import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { until } from "../drain/support/client.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { assess, jobsOf, routes } from "./support/routes.ts";

const mill = { user: "ann", json: { address: "Mill Lane 1" } };

describe.each(backends)("POST /jobs/:kind on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test("answers 202 with the job and where to ask for it, before the work", async () => {
    const { ask, leasehold, handler } = routes(db.database, {
      handlers: [handle(defineJob("assess"), () => ({ safe: true }))],
      jobs: [defineJob("assess")],
    });
    const started = await ask("/jobs/assess", mill);
    const { id, statusUrl } = (await started.json()) as { id: string; statusUrl: string };
    expect(started.status).toBe(202);
    expect(statusUrl).toBe(`/api/leasehold/jobs/${id}`);
    expect(started.headers.get("location")).toBe(statusUrl);
    const asked = () =>
      handler(new Request(`https://app.example${statusUrl}`, { headers: { "x-user": "ann" } }));
    const job = await until(async () => {
      const told = (await (await asked()).json()) as { status: string };
      return told.status === "completed" ? told : undefined;
    }, "the end of the job");
    expect(job).toMatchObject({ id, result: { safe: true } });
    expect(await jobsOf(db)).toMatchObject([{ id, owner: "ann", payload: mill.json }]);
    await leasehold.close();
  });

  test("takes an empty body as no payload", async () => {
    const ping = defineJob("ping", { startIn: "worker" });
    const { ask } = routes(db.database, { jobs: [ping] });
    expect((await ask("/jobs/ping", { method: "POST", user: "ann" })).status).toBe(202);
    expect(await jobsOf(db)).toHaveLength(1);
  });

  test("of two at the same instant on one key, one starts and the other hears which (S13)", async () => {
    const { ask } = routes(db.database);
    const both = await Promise.all([ask("/jobs/assess", mill), ask("/jobs/assess", mill)]);
    const [first, second] = both.sort((a, b) => a.status - b.status) as [Response, Response];
    expect([first.status, second.status]).toEqual([202, 409]);
    const { id, statusUrl } = (await first.json()) as { id: string; statusUrl: string };
    expect(await second.json()).toEqual({
      error: {
        code: "JOB_IN_FLIGHT",
        message: expect.any(String),
        id,
        status: "queued",
        statusUrl,
      },
    });
    expect(await jobsOf(db)).toHaveLength(1);
  });

  test("another owner's job in the way is not told (S17)", async () => {
    const { ask } = routes(db.database);
    const first = (await (await ask("/jobs/assess", mill)).json()) as { id: string };
    const second = await ask("/jobs/assess", { ...mill, user: "bob" });
    expect(second.status).toBe(409);
    expect(await second.json()).toEqual({
      error: { code: "JOB_IN_FLIGHT", message: "Such a job is already under way." },
    });
    expect((await ask(`/jobs/${first.id}`, { user: "bob" })).status).toBe(404);
  });

  test("Idempotency-Key: what is sent again answers 200 with the first job (S18)", async () => {
    const { ask } = routes(db.database);
    const headers = { "idempotency-key": "click-1" };
    const first = await ask("/jobs/assess", { ...mill, headers });
    const body = await first.text();
    for (const address of ["Mill Lane 1", "Mill Lane 2"]) {
      const again = await ask("/jobs/assess", { user: "ann", json: { address }, headers });
      expect([again.status, await again.text()]).toEqual([200, body]);
    }
    expect(await jobsOf(db)).toMatchObject([{ payload: mill.json }]);
    // It is a name of this owner's alone.
    const bob = await ask("/jobs/assess", { user: "bob", json: { address: "Elm 3" }, headers });
    expect(bob.status).toBe(202);
    const long = { "idempotency-key": "x".repeat(501) };
    expect((await ask("/jobs/assess", { ...mill, headers: long })).status).toBe(400);
  });

  test("key, owner and the rest are the server's, whatever the request says", async () => {
    const { ask } = routes(db.database, {
      jobs: [
        {
          job: assess,
          options: ({ owner, payload, request }) => ({
            key: `${owner}:${(payload as { address: string }).address}`,
            owner: "mallory",
            priority: request.headers.has("x-urgent") ? -5 : 5,
          }),
        },
      ],
    });
    const json = { ...mill.json, owner: "bob", key: "none" };
    const started = await ask("/jobs/assess?owner=bob&key=none", {
      ...{ user: "ann", json },
      headers: { "x-urgent": "1" },
    });
    expect(started.status).toBe(202);
    expect(await jobsOf(db)).toMatchObject([
      { owner: "ann", key: "ann:Mill Lane 1", priority: -5 },
    ]);
  });

  test("an admin's job has no owner, unless its options name one", async () => {
    const { ask } = routes(db.database, {
      jobs: [{ job: assess, options: ({ request }) => forUser(request) }],
    });
    const admin = { ...mill, user: "admin" };
    expect((await ask("/jobs/assess", admin)).status).toBe(202);
    const other = { user: "admin", json: { address: "Elm 3" }, headers: { "x-for": "ann" } };
    expect((await ask("/jobs/assess", other)).status).toBe(202);
    expect((await jobsOf(db)).map((job) => job.owner)).toEqual([null, "ann"]);
  });

  test("kinds of any name are met by their encoded name, decoded once (S43)", async () => {
    const kinds = ["a/b c?d#e%25", "日本語", "50%", "a%2Fb"];
    const { ask } = routes(db.database, {
      jobs: kinds.map((kind) => defineJob(kind, { startIn: "worker" })),
    });
    for (const kind of kinds) {
      const path = `/jobs/${encodeURIComponent(kind)}`;
      expect((await ask(path, { method: "POST", user: "ann" })).status, kind).toBe(202);
    }
    expect((await jobsOf(db)).map((job) => job.kind)).toEqual(kinds);
  });
});

function forUser(request: Request) {
  const owner = request.headers.get("x-for");
  return owner === null ? {} : { owner };
}
