import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { metricsText } from "../../src/http/metrics.ts";
import { defineJob } from "../../src/index.ts";
import { deferred } from "../drain/support/client.ts";
import { interposed } from "../drain/support/interposed.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { assess, routes, secret } from "./support/routes.ts";

const bearer = { authorization: `Bearer ${secret}` };

describe.each(backends)("on %s", (backend) => {
  let db: TestDatabase;
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  /** A job whose lease ran out, and its claim's late word, ten minutes ago. */
  async function lapse(): Promise<void> {
    const { call } = db.database;
    await call("enqueue", { p_kind: "lapsed" });
    const [claimed] = (await call("claim", { p_kinds: ["lapsed"] })) as [{ id: string }];
    await age(db, claimed.id, 600_000);
    await call("reap", {});
    await call("complete", { p_id: claimed.id, p_generation: 1 });
    await db.query("update leasehold.job_events set at = at - interval '10 minutes'");
  }

  test("/metrics tells the queue in numbers", async () => {
    const { ask, leasehold } = routes(db.database);
    await leasehold.enqueue(assess, { address: "a" });
    await leasehold.enqueue(defineJob('odd "kind"\\'), {}, { delay: "1h" });
    await db.database.call("pause", { p_kind: "assess" });
    await lapse();
    const answer = await ask("/metrics", { headers: bearer });
    expect(answer.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const lines = (await answer.text()).split("\n");
    expect(lines).toContain("# TYPE leasehold_jobs gauge");
    expect(lines).toContain('leasehold_jobs{kind="assess",status="queued"} 1');
    expect(lines).toContain('leasehold_jobs{kind="assess",status="failed"} 0');
    expect(lines).toContain('leasehold_jobs_due{kind="assess"} 1');
    expect(lines).toContain('leasehold_kind_paused{kind="assess"} 1');
    expect(lines).toContain('leasehold_jobs_due{kind="odd \\"kind\\"\\\\"} 0');
    expect(lines).toContain('leasehold_lease_expiries_last_hour{kind="lapsed"} 1');
    expect(lines).toContain('leasehold_refused_writes_last_hour{kind="lapsed"} 1');
    const sample = /^leasehold_\w+\{(\w+="(\\.|[^"\\])*",?)+\} -?\d+(\.\d+)?$/;
    const samples = lines.filter((line) => line !== "" && !line.startsWith("#"));
    expect(samples.filter((line) => !sample.test(line))).toEqual([]);
    expect(lines.at(-1)).toBe("");
  });

  test("/metrics is for admins, who brings the secret, and whom `metrics` lets in", async () => {
    const closed = routes(db.database);
    const status = async ({ ask } = closed, asked = {}) => (await ask("/metrics", asked)).status;
    expect(await status()).toBe(401);
    expect(await status(closed, { user: "ann" })).toBe(403);
    expect(await status(closed, { headers: { authorization: "Bearer wrong" } })).toBe(401);
    expect(await status(closed, { user: "admin" })).toBe(200);
    expect(await status(closed, { headers: bearer })).toBe(200);
    expect(await status(closed, { headers: bearer, method: "HEAD" })).toBe(200);
    const metrics = (request: Request) => request.headers.get("x-scraper") === "1";
    const scraped = routes(db.database, { metrics });
    expect(await status(scraped, { headers: { "x-scraper": "1" } })).toBe(200);
    expect(await status(scraped)).toBe(401);
    const truthy = routes(db.database, { metrics: () => "no" as never });
    expect(await status(truthy)).toBe(401);
  });

  test("/health says whether the database answers, to everybody, and asks it once for many", async () => {
    const go = deferred();
    const database = interposed(db.database, async (call) => {
      await go.promise;
      return call.go();
    });
    const { ask } = routes(database);
    const asked = Array.from({ length: 20 }, () => ask("/health"));
    go.resolve();
    for (const answer of await Promise.all(asked)) {
      expect([answer.status, await answer.text()]).toEqual([200, '{"status":"ok"}']);
    }
    expect(database.calls).toEqual(["schema_version"]);
    await ask("/health");
    expect(database.calls).toHaveLength(2);
  });
});

test("a line's end in a kind forges no sample (S42)", () => {
  const none = { queued: 0, due: 0, running: 0, expired: 0, completed: 0, failed: 0, cancelled: 0 };
  const kind = 'a"} 1\nforged 1';
  const text = metricsText(
    [{ kind, paused: false, oldest_due_ms: 1500, ...none }],
    [{ kind, lease_expiries: 1, refused_writes: 2 }],
  );
  expect(text).toContain('leasehold_oldest_due_seconds{kind="a\\"} 1\\nforged 1"} 1.5');
  expect(text).not.toMatch(/^forged/m);
});
