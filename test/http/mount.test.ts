import { request as httpRequest } from "node:http";
import { Hono } from "hono";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { jobsOf, requestTo, routes } from "./support/routes.ts";
import { type Served, serve } from "./support/server.ts";

let db: TestDatabase;
let server: Served | undefined;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterEach(async () => {
  await server?.close();
  server = undefined;
});
afterAll(() => db.close());

const mill = { user: "ann", json: { address: "Mill Lane 1" } };

/** Starts a job below `prefix` and follows its statusUrl, to which `back` leads. */
async function walk(
  fetch: (request: Request) => Promise<Response> | Response,
  { prefix, back = (path) => path }: { prefix: string; back?: (path: string) => string },
) {
  const at = "http://app.example";
  const started = await fetch(requestTo(`${at}${prefix}/jobs/assess`, mill));
  expect(started.status).toBe(202);
  const { statusUrl } = (await started.json()) as { statusUrl: string };
  const asked = await fetch(requestTo(`${at}${back(statusUrl)}`, { user: "ann" }));
  expect(asked.status).toBe(200);
  await db.reset();
  return statusUrl;
}

describe("the base path (S43)", () => {
  test.each([
    [undefined, "/api/leasehold"],
    ["/admin/queue", "/admin/queue"],
    ["/admin/queue/", "/admin/queue"],
    ["/", ""],
    ["", ""],
    ["/jobs", "/jobs"],
    ["/日本", "/%E6%97%A5%E6%9C%AC"],
  ])("%j: all lies below it", async (basePath, prefix) => {
    const { handler } = routes(db.database, basePath === undefined ? {} : { basePath });
    const statusUrl = await walk(handler, { prefix });
    expect(decodeURI(statusUrl)).toMatch(new RegExp(`^${decodeURI(prefix)}/jobs/[0-9a-f-]{36}$`));
  });

  test("a proxy may take any part of its front away; the URLs told are the browser's", async () => {
    const { handler } = routes(db.database, { basePath: "/admin/queue" });
    for (const prefix of ["/admin/queue", "/queue", ""]) {
      const back = (path: string) => path.replace("/admin/queue", prefix);
      expect(await walk(handler, { prefix, back })).toMatch(/^\/admin\/queue\/jobs\//);
    }
  });

  test("a slash at the end of a route is the same route, and nothing else is one", async () => {
    const { handler } = routes(db.database);
    const status = async (path: string) =>
      (await handler(requestTo(`http://app.example${path}`, mill))).status;
    expect(await status("/api/leasehold/jobs/assess/")).toBe(202);
    for (const path of ["/other/jobs/assess", "/api/leasehold", "/api/leasehold/", "/", "//"]) {
      expect(await status(path), path).toBe(404);
    }
    expect(await jobsOf(db)).toHaveLength(1);
  });
});

describe("under other servers", () => {
  test("Hono, by its route and by its mount", async () => {
    const { handler } = routes(db.database);
    const routed = new Hono();
    routed.all("/api/leasehold/*", (context) => handler(context.req.raw));
    await walk((request) => routed.fetch(request), { prefix: "/api/leasehold" });
    const mounted = new Hono().mount("/api/leasehold", handler.fetch);
    await walk((request) => mounted.fetch(request), { prefix: "/api/leasehold" });
  });

  test("handlers by method, as Next.js wants them", async () => {
    const { handler } = routes(db.database);
    const route = { GET: handler, POST: handler } as Record<string, typeof handler>;
    const fetch = (request: Request) => {
      const context = { params: Promise.resolve({ path: [] }) };
      const byMethod = route[request.method] as (...given: unknown[]) => Promise<Response>;
      return byMethod(request, context);
    };
    await walk(fetch, { prefix: "/api/leasehold" });
  });

  test("a server of Node's", async () => {
    const { handler } = routes(db.database);
    server = await serve(handler.fetch);
    const { url } = server;
    await walk(
      (request) => {
        const { pathname } = new URL(request.url);
        const { method, headers, body } = request;
        return fetch(url + pathname, { method, headers, body, duplex: "half" });
      },
      { prefix: "/api/leasehold" },
    );
    const own = { ...mill, headers: { origin: url } };
    expect((await fetch(requestTo(`${url}/api/leasehold/jobs/assess`, own))).status).toBe(202);
    const head = await fetch(`${url}/api/leasehold/health`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("a body of 10 MB over the wire is refused, whether its length is told or not", async () => {
    const { handler } = routes(db.database);
    server = await serve(handler.fetch);
    const { url } = server;
    const size = 10 * 1_048_576;
    for (const headers of [{ "content-length": size }, { "transfer-encoding": "chunked" }]) {
      expect(await upload(`${url}/api/leasehold/jobs/assess`, headers, size)).toBe(413);
    }
    expect(await jobsOf(db)).toEqual([]);
    // And the server goes on serving.
    expect((await fetch(`${url}/api/leasehold/health`)).status).toBe(200);
  });

  test("a client that leaves in the middle of its body starts nothing and troubles nobody", async () => {
    const { handler, leasehold } = routes(db.database);
    const answered: Promise<Response>[] = [];
    server = await serve((request) => {
      const answer = handler(request);
      answered.push(answer);
      return answer;
    });
    const sending = httpRequest(`${server.url}/api/leasehold/jobs/assess`, {
      method: "POST",
      headers: { "x-user": "ann", "content-type": "application/json", "content-length": 1_000 },
    });
    sending.on("error", () => undefined);
    sending.write('{"address": ', () => sending.destroy());
    await new Promise((resolve) => sending.on("close", resolve));
    await expect.poll(() => answered.length).toBe(1);
    expect((await answered[0])?.status).toBe(400);
    expect([await jobsOf(db), leasehold.toldOf("error")]).toEqual([[], []]);
  });
});

/** Sends as much as the server takes, and answers the status that it answers. */
function upload(url: string, headers: Record<string, string | number>, size: number) {
  return new Promise<number | undefined>((resolve, reject) => {
    const sending = httpRequest(url, {
      method: "POST",
      headers: { "x-user": "ann", "content-type": "application/json", ...headers },
    });
    sending.on("response", (answer) => {
      answer.resume();
      resolve(answer.statusCode);
      sending.destroy();
    });
    sending.on("error", reject);
    sending.end(Buffer.alloc(size, 32));
  });
}
