import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type Asked, type Body, jobsOf, type Routes, requestTo, routes } from "./support/routes.ts";

const mill = { user: "ann", json: { address: "Mill Lane 1" } };
const typed = (body: Body, type = "application/json") => ({
  ...{ method: "POST", user: "ann", body },
  headers: { "content-type": type },
});
const megabytes = (count: number) => JSON.stringify({ address: "x".repeat(count * 1_048_576) });
const deep = "[".repeat(5_000) + "]".repeat(5_000);

/** Each request that is refused: its status and code, its path, and what it sends. */
const refused: [status: number, code: string, path: string, asked: Asked][] = [
  [400, "BAD_JSON", "/jobs/assess", typed("{rubbish")],
  [400, "BAD_JSON", "/jobs/assess", typed(" ")],
  [400, "BAD_JSON", "/jobs/assess", typed(new Uint8Array([34, 0xff, 34]))],
  [400, "BAD_PAYLOAD", "/jobs/assess", typed("{}")],
  [400, "BAD_PAYLOAD", "/jobs/assess", typed("null")],
  [400, "BAD_PAYLOAD", "/jobs/assess", { method: "POST", user: "ann" }],
  [400, "BAD_PAYLOAD", "/jobs/assess", typed('{"address": "\\u0000"}')],
  [400, "BAD_PAYLOAD", "/jobs/assess", typed('{"address": "\\ud800"}')],
  [400, "BAD_PAYLOAD", "/jobs/assess", typed(`{"address": "a", "more": ${deep}}`)],
  // The key that the definition makes of it is blank, or too long.
  [400, "BAD_PAYLOAD", "/jobs/assess", typed('{"address": " "}')],
  [400, "BAD_PAYLOAD", "/jobs/assess", typed(`{"address": "${"x".repeat(501)}"}`)],
  [401, "UNAUTHORIZED", "/jobs/assess", { json: mill.json }],
  [401, "UNAUTHORIZED", "/jobs/other", { json: mill.json }],
  [
    403,
    "FORBIDDEN_ORIGIN",
    "/jobs/assess",
    { ...mill, headers: { origin: "https://evil.example" } },
  ],
  [404, "NOT_FOUND", "/jobs/other", mill],
  [404, "NOT_FOUND", "/jobs/constructor", mill],
  [404, "NOT_FOUND", "/jobs/leasehold.reconcile", mill],
  [404, "NOT_FOUND", "/jobs", mill],
  [404, "NOT_FOUND", "/jobs/assess/start", mill],
  [405, "METHOD_NOT_ALLOWED", "/jobs/assess", { ...mill, method: "PUT" }],
  [405, "METHOD_NOT_ALLOWED", "/jobs/assess", { user: "ann", method: "DELETE" }],
  [405, "METHOD_NOT_ALLOWED", "/jobs/assess", { method: "OPTIONS" }],
  [405, "METHOD_NOT_ALLOWED", "/jobs/assess", { method: "toString" }],
  [413, "PAYLOAD_TOO_LARGE", "/jobs/assess", typed(megabytes(10))],
  [413, "PAYLOAD_TOO_LARGE", "/jobs/assess", typed(megabytes(1))],
  [415, "UNSUPPORTED_MEDIA_TYPE", "/jobs/assess", typed("{}", "text/plain")],
  [415, "UNSUPPORTED_MEDIA_TYPE", "/jobs/assess", typed("{}", "text/plain;application/json")],
  [
    415,
    "UNSUPPORTED_MEDIA_TYPE",
    "/jobs/assess",
    typed("a=1", "application/x-www-form-urlencoded"),
  ],
  [415, "UNSUPPORTED_MEDIA_TYPE", "/jobs/assess", typed("", "multipart/form-data")],
  [
    ...([415, "UNSUPPORTED_MEDIA_TYPE", "/jobs/assess"] as const),
    { ...mill, headers: { "content-encoding": "gzip" } },
  ],
];

let db: TestDatabase;
let own: Routes;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
  own = routes(db.database);
});
afterAll(() => db.close());

test.each(refused)("%i %s %s", async (status, code, path, asked) => {
  const response = await own.ask(path, asked);
  const body = await response.text();
  expect([response.status, JSON.parse(body).error?.code], body).toEqual([status, code]);
  expect(Object.keys(JSON.parse(body))).toEqual(["error"]);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("cache-control")).toBe("no-store");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  expect(body).not.toMatch(/select|\.ts|node_modules/);
  expect(await jobsOf(db)).toEqual([]);
  // What a caller does wrong is nobody's trouble but its own.
  expect(own.leasehold.toldOf("error")).toEqual([]);
});

test("405 says what is allowed", async () => {
  const allow = async (path: string) =>
    (await own.ask(path, { method: "PATCH", user: "ann" })).headers.get("allow");
  expect(await allow("/jobs/assess")).toBe("GET, HEAD, POST");
  expect(await allow("/jobs/x/cancel")).toBe("POST");
  expect(await allow("/jobs/x/retry")).toBe("POST");
  expect(await allow("/drain")).toBe("GET, POST");
  expect(await allow("/metrics")).toBe("GET, HEAD");
  expect(await allow("/health")).toBe("GET, HEAD");
});

test("a message names what is wrong with the payload, for people", async () => {
  const response = await own.ask("/jobs/assess", typed('{"address": 5}'));
  const { error } = (await response.json()) as { error: { message: string } };
  expect(error.message).toMatch(/^payload is not valid: payload\.address: /);
});

describe("a body larger than its limit", () => {
  /** A body of 10 MB that counts what is read of it. */
  function counted(headers: Record<string, string> = {}) {
    const read = { bytes: 0, cancelled: false };
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          if (read.bytes >= 10 * 1_048_576) return controller.close();
          read.bytes += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(32));
        },
        cancel() {
          read.cancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    const asked = typed(body);
    return { read, asked: { ...asked, headers: { ...asked.headers, ...headers } } };
  }

  test("is refused by its Content-Length, unread", async () => {
    const { read, asked } = counted({ "content-length": `${10 * 1_048_576}` });
    expect((await own.ask("/jobs/assess", asked)).status).toBe(413);
    expect(read.bytes).toBe(0);
  });

  test("is read no further than the limit without one, or with a false one", async () => {
    for (const headers of [{}, { "content-length": "10" }, { "content-length": "lots" }]) {
      const { read, asked } = counted(headers as Record<string, string>);
      expect((await own.ask("/jobs/assess", asked)).status).toBe(413);
      expect(read.bytes).toBeLessThanOrEqual(1_048_576 + 2 * 65_536);
      expect(read.cancelled).toBe(true);
    }
    expect(await jobsOf(db)).toEqual([]);
  });

  test("is not read at all for nobody, and for a kind that is not listed", async () => {
    const nobody = counted();
    const request = requestTo("https://app.example/api/leasehold/jobs/assess", {
      ...nobody.asked,
      user: undefined as never,
    });
    expect((await own.handler(request)).status).toBe(401);
    const other = counted();
    expect((await own.ask("/jobs/other", other.asked)).status).toBe(404);
    expect([nobody.read.bytes, other.read.bytes]).toEqual([0, 0]);
  });

  test("the limit is an option", async () => {
    const small = routes(db.database, { maxBodyBytes: 30 });
    expect((await small.ask("/jobs/assess", typed('{"address": "a"}'))).status).toBe(202);
    const more = await small.ask("/jobs/assess", typed(`{"address": "${"b".repeat(30)}"}`));
    expect(more.status).toBe(413);
    await db.reset();
  });
});
