import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type DashboardOptions, dashboard } from "../../src/dashboard/index.ts";
import { createLeasehold, type Logger } from "../../src/index.ts";
import { silentLogger } from "../../src/logger.ts";
import { callsOf } from "../sql/support/calls.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

const address = "http://app.example.com/admin/jobs";

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterEach(() => vi.unstubAllEnvs());
afterAll(() => db.close());

const sql = () => callsOf(db);

function handler(options: Partial<DashboardOptions> = {}, logger: Logger = silentLogger) {
  const leasehold = createLeasehold({ database: db.database, logger });
  return dashboard({ leasehold, authorize: () => "admin", ...options });
}

async function get(page: ReturnType<typeof handler>, query: string) {
  const response = await page(new Request(`${address}?${query}`));
  // biome-ignore lint/suspicious/noExplicitAny: each answer has its own shape
  return { status: response.status, body: (await response.json()) as any };
}

/** As the page itself does it. */
function post(
  page: ReturnType<typeof handler>,
  body: unknown,
  {
    headers = {},
    raw = JSON.stringify(body),
  }: { headers?: Record<string, string>; raw?: string } = {},
): Promise<Response> {
  const own = {
    origin: "http://app.example.com",
    "sec-fetch-site": "same-origin",
    "x-leasehold-dashboard": "1",
    "content-type": "application/json",
  };
  return page(
    new Request(`${address}?api=act`, {
      method: "POST",
      headers: { ...own, ...headers },
      body: raw,
    }),
  );
}

async function acted(page: ReturnType<typeof handler>, body: unknown) {
  const response = await post(page, body);
  const { answer } = (await response.json()) as { answer: unknown };
  expect(response.status).toBe(200);
  return answer;
}

describe("who may see it", () => {
  const bare = () => {
    const leasehold = createLeasehold({ database: db.database, logger: silentLogger });
    return { leasehold };
  };

  test.each(["production", "test", ""])("nobody without authorize: NODE_ENV %j", async (env) => {
    vi.stubEnv("NODE_ENV", env);
    const warn = vi.fn();
    const leasehold = createLeasehold({
      database: db.database,
      logger: { ...silentLogger, warn } as Logger,
    });
    const page = dashboard({ leasehold });
    for (const query of ["", "?api=session", "?api=jobs"]) {
      expect((await page(new Request(address + query))).status).toBe(404);
    }
    expect(warn).toHaveBeenCalledOnce();
    expect(warn.mock.calls[0]?.[1]).toMatch(/pass `authorize/);
  });

  test("who develops, as an admin, without authorize", async () => {
    vi.stubEnv("NODE_ENV", "development");
    const { body } = await get(dashboard(bare()), "api=session");
    expect(body).toEqual({ role: "admin", name: null, title: "leasehold" });
  });

  test.each([null, undefined, false, true, "", "owner", {}, { role: "root" }, Promise.resolve()])(
    "nobody for whom authorize answers %j",
    async (answered) => {
      const page = handler({ authorize: () => answered as never });
      for (const query of ["", "?api=session", "?api=jobs"]) {
        expect((await page(new Request(address + query))).status).toBe(404);
      }
      expect((await post(page, { action: "pause", kind: "k" })).status).toBe(404);
    },
  );

  test("whoever has a role, under the name that comes with it", async () => {
    const session = async (authorize: NonNullable<DashboardOptions["authorize"]>) =>
      (await get(handler({ authorize, title: "Mail" }), "api=session")).body;
    expect(await session(async () => "read" as const)).toEqual({
      role: "read",
      name: null,
      title: "Mail",
    });
    const ann = { role: "admin", name: "ann" } as const;
    expect(await session(() => ann)).toEqual({ ...ann, title: "Mail" });
  });

  test("a Response of authorize's is the answer, whether returned or thrown", async () => {
    const away = Response.redirect("https://example.com/sign-in", 302);
    for (const authorize of [
      () => away,
      () => {
        throw away;
      },
    ]) {
      expect(await handler({ authorize })(new Request(address))).toBe(away);
    }
  });

  test("an authorize that fails opens nothing, and tells the log alone", async () => {
    const error = vi.fn();
    const authorize = () => {
      throw new Error("the session store at 10.0.0.1 is down");
    };
    const page = handler({ authorize }, { ...silentLogger, error } as Logger);
    const response = await page(new Request(address));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("10.0.0.1");
    expect(error).toHaveBeenCalledOnce();
  });

  test.each([
    [{ leasehold: {} }, /leasehold/],
    [{ authorize: "admin" }, /authorize/],
    [{ redact: [1] }, /redact/],
    [{ title: " " }, /title/],
    [{ trustedOrigins: "x" }, /trustedOrigins/],
    [{ autorize: () => "admin" }, /autorize/],
  ])("refuses the option %j", (options, message) => {
    expect(() => handler(options as never)).toThrow(message);
  });
});

describe("the page", () => {
  test("loads nothing else, and nothing else can run in it", async () => {
    const response = await handler()(new Request(address));
    const page = await response.text();
    const policy = response.headers.get("content-security-policy") ?? "";
    const [, script = ""] = /<script type="module">(.*)<\/script>/s.exec(page) ?? [];
    const [, style = ""] = /<style>(.*)<\/style>/s.exec(page) ?? [];
    const hash = (text: string) => createHash("sha256").update(text).digest("base64");
    expect(script.length).toBeGreaterThan(10_000);
    expect(policy.split("; ")).toEqual([
      "default-src 'none'",
      `script-src 'sha256-${hash(script)}'`,
      `style-src 'sha256-${hash(style)}'`,
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    const hosts = new Set(page.match(/https?:\/\/[^"'`\s)]+/g));
    for (const host of hosts) expect(host).toMatch(/^http:\/\/www\.w3\.org\//);
    expect(page.match(/<script/g)).toHaveLength(1);
    expect(page.match(/ (src|href)=/g)).toBeNull();
    expect(response.headers.get("x-frame-options")).toBe("DENY");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  });

  test("is sent once, as long as it is the same", async () => {
    const page = handler();
    const etag = (await page(new Request(address))).headers.get("etag") ?? "";
    const again = await page(
      new Request(address, { headers: { "if-none-match": `"old", ${etag}` } }),
    );
    expect(again.status).toBe(304);
    const head = await page(new Request(address, { method: "HEAD" }));
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, etag, ""]);
  });

  test("knows GET and POST", async () => {
    const response = await handler()(new Request(address, { method: "PUT" }));
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  });
});

describe("questions", () => {
  test("are answered as the SQL functions do", async () => {
    const { call, enqueue, running } = sql();
    await call("grant_credits", "ann", 5, "r");
    const id = await enqueue({ key: "a", owner: "o", cost: 1, account: "ann" }, { n: 1 });
    await call("fail", await running(), 1, { code: "E" }, true);
    const page = handler();
    const answer = async (query: string) => (await get(page, query)).body.answer;
    expect(await answer("api=jobs")).toEqual(await call("list"));
    expect((await answer("api=jobs&status=failed&kind=k&error_code=E")).jobs).toHaveLength(1);
    expect((await answer("api=jobs&status=&key=a&owner=o&limit=1")).jobs).toMatchObject([{ id }]);
    expect((await answer(`api=jobs&id=${id}&status=failed`)).jobs).toMatchObject([{ id }]);
    expect(await answer("api=counts&status=failed")).toEqual(await call("counts"));
    expect(await answer(`api=job&id=${id}`)).toMatchObject({ payload: { n: 1 }, job: { id } });
    expect(await answer("api=job&id=00000000-0000-7000-8000-000000000000")).toBeNull();
    expect(await answer("api=overview&period_ms=60000")).toMatchObject({
      due: 1,
      ended: { part_ms: 1000 },
    });
    expect(await answer("api=kinds")).toMatchObject({
      kinds: [{ kind: "k" }],
      timings: [{ kind: "k", failed: 1 }],
    });
    expect(await answer("api=accounts")).toEqual(await call("accounts"));
    expect((await answer("api=accounts&after=ann")).accounts).toEqual([]);
    expect(await answer("api=account&account=ann")).toMatchObject({
      credits: { available: 4, held: 1 },
      entries: [{ kind: "hold" }, { kind: "grant" }],
      holds: { holds: [{ job_id: id }] },
    });
    expect(await answer("api=check")).toEqual({ ok: true, violations: [] });
    expect(await answer("api=workers")).toMatchObject({ workers: [] });
    expect(await answer("api=alerts&open=1")).toEqual({ alerts: [], next: null });
  });

  test("go on where a page ended", async () => {
    const { enqueue } = sql();
    const ids = [];
    for (let i = 0; i < 3; i += 1) ids.unshift(await enqueue());
    const page = handler();
    const first = (await get(page, "api=jobs&limit=2")).body.answer;
    const second = (await get(page, `api=jobs&limit=2&after=${first.next}`)).body.answer;
    const shown = [...first.jobs, ...second.jobs].map(({ id }: { id: string }) => id);
    expect([shown, second.next]).toEqual([ids, null]);
  });

  test.each([
    "api=nothing",
    "api=constructor",
    "api=jobs&limit=0",
    "api=jobs&limit=501",
    "api=jobs&limit=1e2",
    "api=jobs&after=x",
    "api=jobs&id=x",
    "api=jobs&status=done",
    `api=jobs&kind=${"k".repeat(501)}`,
    "api=job",
    "api=overview&period_ms=1",
    "api=account",
    "api=account&account=%20",
    "api=alerts&before=-1",
  ])("that can't be are refused with the reason: %s", async (query) => {
    const { status, body } = await get(handler(), query);
    expect([status, body.error.code]).toEqual([400, "BAD_REQUEST"]);
    expect(body.error.message.length).toBeGreaterThan(10);
  });

  test("show nothing of what is to be redacted, by name or by function", async () => {
    const secret = { user: { Password: "s3cret", name: "ann" }, list: [{ password: ["s3cret"] }] };
    const { call, rows, enqueue } = sql();
    const id = await enqueue({}, secret);
    await rows("claim_job", id);
    await call("complete", id, 1, secret);
    const shown = async (redact: DashboardOptions["redact"]) =>
      (await get(handler({ redact } as never), `api=job&id=${id}`)).body.answer;
    const hidden = {
      user: { Password: "[redacted]", name: "ann" },
      list: [{ password: "[redacted]" }],
    };
    expect(await shown(["PASSWORD"])).toMatchObject({ payload: hidden, result: hidden });
    const byPath = (value: unknown, path: readonly (string | number)[]) =>
      path.join(".") === "payload.user" ? "?" : value;
    expect(await shown(byPath)).toMatchObject({
      payload: { user: "?", list: secret.list },
      result: secret,
    });
    expect(await shown(undefined)).toMatchObject({ payload: secret });
  });

  test("are answered with 503 where the database is away, and 500 where something is wrong", async () => {
    const error = vi.fn();
    const failing = (thrown: object) => {
      const call = async () => {
        throw thrown;
      };
      const leasehold = createLeasehold({
        database: { ...db.database, call },
        logger: { ...silentLogger, error } as Logger,
      });
      return get(dashboard({ leasehold, authorize: () => "read" }), "api=workers");
    };
    const away = await failing(Object.assign(new Error("secret host"), { code: "ECONNREFUSED" }));
    expect([away.status, away.body.error.code]).toEqual([503, "UNAVAILABLE"]);
    const wrong = await failing(new Error("secret table"));
    expect([wrong.status, wrong.body.error.code]).toEqual([500, "INTERNAL"]);
    expect(JSON.stringify([away.body, wrong.body])).not.toContain("secret");
    expect(error).toHaveBeenCalledTimes(2);
  });

  test("fill no log with a database that is away: it is told once, until it answers", async () => {
    const error = vi.fn();
    let isAway = true;
    const call: typeof db.database.call = async (name, args) => {
      if (isAway) throw Object.assign(new Error("no"), { code: "ECONNREFUSED" });
      return db.database.call(name, args);
    };
    const leasehold = createLeasehold({
      database: { ...db.database, call },
      logger: { ...silentLogger, error } as Logger,
    });
    const page = dashboard({ leasehold, authorize: () => "read" });
    for (let i = 0; i < 3; i += 1) expect((await get(page, "api=workers")).status).toBe(503);
    expect(error).toHaveBeenCalledTimes(1);
    isAway = false;
    expect((await get(page, "api=workers")).status).toBe(200);
    isAway = true;
    expect((await get(page, "api=workers")).status).toBe(503);
    expect(error).toHaveBeenCalledTimes(2);
  });
});

describe("acts", () => {
  test("are for an admin, from the page itself", async () => {
    const { value } = sql();
    const body = { action: "pause", kind: "k" };
    const refused = async (
      page: ReturnType<typeof handler>,
      headers: Record<string, string> = {},
    ) => (await post(page, body, { headers })).status;
    expect(await refused(handler({ authorize: () => "read" }))).toBe(403);
    expect(await refused(handler(), { origin: "https://evil.example.com" })).toBe(403);
    expect(await refused(handler(), { origin: "null" })).toBe(403);
    expect(await refused(handler(), { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await refused(handler(), { "x-leasehold-dashboard": "" })).toBe(403);
    expect(await value("select count(*) from leasehold.kinds")).toBe(0);
    const trusted = handler({ trustedOrigins: ["https://admin.example.com"] });
    expect(await refused(trusted, { origin: "https://admin.example.com" })).toBe(200);
    expect(await value("select count(*) from leasehold.kinds")).toBe(1);
  });

  test("are not done by a GET", async () => {
    const { status } = await get(handler(), "api=act&action=pause&kind=k");
    expect(status).toBe(400);
    expect(await sql().value("select count(*) from leasehold.kinds")).toBe(0);
  });

  test("on jobs by their ids tell what became of each", async () => {
    const { call, enqueue, running, job } = sql();
    const page = handler();
    const failed = await running({ key: "a" });
    await call("fail", failed, 1, {}, true);
    const retry = { action: "retry", ids: [failed] };
    expect(await acted(page, retry)).toEqual({ retried: 1, skipped: [] });
    // A double click, and a second browser.
    expect(await acted(page, retry)).toEqual({
      retried: 0,
      skipped: [{ id: failed, outcome: "wrong_status" }],
    });
    expect(await acted(page, { action: "cancel", ids: [failed] })).toMatchObject({ cancelled: 1 });
    await enqueue({ key: "a" });
    expect(await acted(page, retry)).toEqual({
      retried: 0,
      skipped: [{ id: failed, outcome: "conflict" }],
    });
    const later = await enqueue({ delay_ms: 60_000 });
    expect(await acted(page, { action: "run_now", ids: [later] })).toMatchObject({ due: 1 });
    expect(await acted(page, { action: "remove", ids: [failed] })).toMatchObject({ removed: 1 });
    expect(await job(failed)).toBeUndefined();
  });

  test("on all that match go on where they ended, past what they passed over", async () => {
    const { call, enqueue, query } = sql();
    await query(`insert into leasehold.jobs (id, kind, key, status, attempts, finished_at)
      select leasehold._uuid7(now() + n * interval '1 ms'), 'k', 'k' || n, 'failed', 1, now() from generate_series(1, 1200) n`);
    for (const n of [1, 700, 1200]) await enqueue({ key: `k${n}` });
    await call("enqueue", "another", "{}", {});
    const page = handler();
    const filter = { kind: "k", status: "failed" };
    let [retried, skipped, after, times] = [0, 0, undefined as string | undefined, 0];
    do {
      const from = after === undefined ? filter : { ...filter, after };
      const answer = (await acted(page, { action: "retry", filter: from })) as {
        retried?: number;
        skipped: object[];
        next: string | null;
      };
      retried += answer.retried ?? 0;
      skipped += answer.skipped.length;
      after = answer.next ?? undefined;
      times += 1;
    } while (after !== undefined && times < 10);
    expect({ retried, skipped, times }).toEqual({ retried: 1197, skipped: 3, times: 3 });
  });

  test("on nothing that matches do nothing", async () => {
    const answer = await acted(handler(), { action: "remove", filter: { owner: "nobody" } });
    expect(answer).toEqual({ skipped: [], next: null });
  });

  test("pause and resume a kind, of any name", async () => {
    const kind = "mail/send?x=1#y 'q' 🎉";
    const page = handler();
    expect(await acted(page, { action: "pause", kind })).toEqual({ changed: true });
    expect(await acted(page, { action: "pause", kind })).toEqual({ changed: false });
    expect((await get(page, "api=overview")).body.answer.paused).toEqual([kind]);
    expect(await acted(page, { action: "resume", kind })).toEqual({ changed: true });
  });

  test("acknowledge alerts, once, under the name of who did", async () => {
    const { query, call } = sql();
    await query(`insert into leasehold.alerts (at, severity, code, message)
      values (now(), 'critical', 'MONEY_UNKNOWN', 'm')`);
    const [{ id }] = (await call("alerts")).alerts;
    const page = handler({ authorize: () => ({ role: "admin", name: "ann" }) });
    const act = { action: "acknowledge", ids: [id] };
    expect(await acted(page, act)).toEqual({ acknowledged: 1 });
    expect(await acted(page, act)).toEqual({ acknowledged: 0 });
    expect((await call("alerts")).alerts).toMatchObject([{ acknowledged_by: "ann" }]);
  });

  const id = "00000000-0000-7000-8000-000000000000";
  test.each([
    [{}],
    [{ action: "drop" }],
    [{ action: "constructor" }],
    [{ action: "retry" }],
    [{ action: "retry", ids: [] }],
    [{ action: "retry", ids: "all" }],
    [{ action: "retry", ids: ["x"] }],
    [{ action: "retry", ids: [id], filter: {} }],
    [{ action: "retry", ids: [id], force: true }],
    [{ action: "retry", filter: [] }],
    [{ action: "retry", filter: { owners: "a" } }],
    [{ action: "retry", filter: { owner: 1 } }],
    [{ action: "retry", filter: { status: ["failed"] } }],
    [{ action: "retry", filter: { after: "x" } }],
    [{ action: "pause" }],
    [{ action: "pause", kind: "" }],
    [{ action: "acknowledge", ids: ["1"] }],
    [[]],
    ["text"],
  ])("that can't be are refused with the reason: %j", async (body) => {
    const response = await post(handler(), body);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: Error };
    expect(error.message.length).toBeGreaterThan(10);
  });

  test("with a body that is no JSON, or too large, are refused", async () => {
    const page = handler();
    expect((await post(page, null, { raw: "{" })).status).toBe(400);
    expect((await post(page, null, { raw: `{"a": "${"x".repeat(500_000)}"}` })).status).toBe(413);
    const headers = { "content-length": "9999999" };
    expect((await post(page, { action: "pause", kind: "k" }, { headers })).status).toBe(413);
  });
});
