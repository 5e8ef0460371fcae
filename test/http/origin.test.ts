import { afterAll, beforeAll, expect, test } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { assess, jobsOf, requestTo, routes } from "./support/routes.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
afterAll(() => db.close());

const app = "https://app.example";
const inside = "http://10.0.0.7:3000";

/** What a request to start says of where it comes from, by the URL under which it arrives. */
const passing: [url: string, headers: Record<string, string>][] = [
  // curl, a server.
  [app, {}],
  [app, { origin: app }],
  [app, { origin: app, "sec-fetch-site": "same-origin" }],
  [app, { "sec-fetch-site": "none" }],
  // TLS ends before the process, which is told the Host.
  ["http://app.example", { origin: app, "sec-fetch-site": "same-origin" }],
  [inside, { origin: app, host: "app.example" }],
  ["http://localhost:3000", { origin: "http://localhost:3000" }],
  [app, { origin: app, host: "app.example:443" }],
  // Named in trustedOrigins.
  [app, { origin: "https://admin.example", "sec-fetch-site": "cross-site" }],
];

const refused: [url: string, headers: Record<string, string>][] = [
  [app, { origin: "https://evil.example" }],
  [app, { origin: "https://evil.example", "sec-fetch-site": "same-origin" }],
  [app, { origin: "https://evil.example", "x-forwarded-host": "evil.example" }],
  [app, { origin: app, "sec-fetch-site": "cross-site" }],
  [app, { "sec-fetch-site": "cross-site" }],
  [app, { "sec-fetch-site": "same-site" }],
  [app, { origin: "null" }],
  [app, { origin: "" }],
  [app, { origin: "https://app.example.evil.example" }],
  [app, { origin: "https://evilapp.example" }],
  [app, { origin: "https://sub.app.example" }],
  [app, { origin: "https://app.example:8443" }],
  [app, { origin: "https://app.example@evil.example" }],
  [app, { origin: "https://app.example/" }],
  [app, { origin: "http://app.example" }],
  [app, { origin: "http://admin.example" }],
  [inside, { origin: app }],
  [inside, { origin: app, "x-forwarded-host": "app.example" }],
];

const all = [
  ...passing.map(([url, headers]) => ({ passes: true, url, headers })),
  ...refused.map(([url, headers]) => ({ passes: false, url, headers })),
];

test.each(all)("$url with $headers passes: $passes", async ({ passes, url, headers }) => {
  await db.reset();
  const { handler, leasehold } = routes(db.database, { trustedOrigins: ["https://admin.example"] });
  const ask = (path: string, json?: unknown) =>
    handler(
      requestTo(`${url}/api/leasehold${path}`, { method: "POST", user: "admin", headers, json }),
    );
  const mill = { address: "Mill Lane 1" };
  expect((await ask("/jobs/assess", mill)).status).toBe(passes ? 202 : 403);
  expect(await jobsOf(db)).toHaveLength(passes ? 1 : 0);
  // The same for the others that write; and what only reads is free to come from anywhere.
  const answer = await leasehold.enqueue(assess, { address: "b" });
  const { id } = answer as { id: string };
  expect((await ask(`/jobs/${id}/cancel`)).status).toBe(passes ? 200 : 403);
  expect((await ask(`/jobs/${id}/retry`)).status).toBe(passes ? 200 : 403);
  expect(await leasehold.status(id)).toMatchObject({ status: "queued" });
  const read = requestTo(`${url}/api/leasehold/jobs/${id}`, { user: "admin", headers });
  expect((await handler(read)).status).toBe(200);
});
