import { afterAll, beforeAll, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type Asked, type Routes, routes, secret, seen } from "./support/routes.ts";

/*
 * No route answers a page, but a browser that is led to one could take its answer for a page: what
 * users of the application have written must never stand in an answer that says that it is HTML, or
 * that leaves a browser to guess.
 */

const image = "<img src=x onerror=alert(1)>";
const drawing = '"><svg onload=alert(1)>';
const script = "</script><script>alert(1)</script>";

const hostile = defineJob(image, { key: () => drawing, startIn: "worker" });

let db: TestDatabase;
let own: Routes;
let id: string;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  own = routes(db.database, {
    jobs: [hostile],
    handlers: [handle(hostile, () => ({ found: script }))],
    metrics: () => true,
  });
  const started = await own.ask(`/jobs/${encodeURIComponent(image)}`, {
    user: "ann",
    json: { a: script },
  });
  ({ id } = (await started.json()) as { id: string });
});
afterAll(() => db.close());

const bearer = { authorization: `Bearer ${secret}` };
const encoded = encodeURIComponent(image);

/** Requests in the order in which they are made: the job is failed, retried, completed on the way. */
const asked: [path: string | (() => string), asked: Asked][] = [
  [`/jobs/${encoded}`, { user: "ann", body: script, headers: { "content-type": "text/html" } }],
  [
    `/jobs/${encoded}`,
    { user: "ann", body: script, headers: { "content-type": "application/json" } },
  ],
  [`/jobs/${encodeURIComponent(script)}`, { user: "ann", json: {} }],
  [`/jobs/${encodeURIComponent(script)}`, { user: "ann" }],
  [`/${encodeURIComponent(drawing)}?kind=${encodeURIComponent(drawing)}`, { user: "ann" }],
  [() => `/jobs/${id}/${encodeURIComponent(drawing)}`, { user: "ann" }],
  [`/drain?linger=${encodeURIComponent(drawing)}`, { headers: bearer }],
  [() => `/jobs/${id}`, { user: "ann", headers: { "accept-language": drawing } }],
  [() => `/jobs/${id}/retry`, { user: "admin", method: "POST" }],
  ["/drain?wait=1", { headers: bearer }],
  [() => `/jobs/${id}`, { user: "ann" }],
  [() => `/jobs/${id}/cancel`, { user: "ann", method: "POST" }],
  ["/metrics", { headers: bearer }],
];

test("what users wrote never stands in an answer that a browser could take for a page (S42)", async () => {
  const [claimed] = (await db.database.call("claim", { p_kinds: [image] })) as {
    generation: number;
  }[];
  const error = { code: image, message: script };
  await db.database.call("fail", {
    ...{ p_id: id, p_generation: claimed?.generation, p_error: error, p_permanent: true },
  });
  let texts = "";
  for (const [path, request] of asked) {
    const where = typeof path === "string" ? path : path();
    const { headers, body } = await seen(await own.ask(where, request));
    const named = Object.fromEntries(headers);
    expect(named["x-content-type-options"], where).toBe("nosniff");
    expect(named["content-type"], where).toMatch(/^(application\/json$|text\/plain; )/);
    expect(JSON.stringify({ ...named, "content-type": "" }), where).not.toMatch(
      /<(img|svg|script)/,
    );
    if (named["content-type"] === "application/json") JSON.parse(body);
    texts += body;
  }
  // They were there to be shown: the code, the kind, the result.
  expect(texts).toContain(`"errorCode":${JSON.stringify(image)}`);
  expect(texts).toContain(`"kind":${JSON.stringify(image)}`);
  expect(texts).toContain(`"result":${JSON.stringify({ found: script })}`);
});
