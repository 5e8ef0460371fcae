import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Assessment, openAssessment, request, submit } from "./support/assessment.ts";
import type { NextServer } from "./support/next-server.ts";
import { creditsOf, entriesOf, grant, jobsOf, violations } from "./support/points.ts";
import { until } from "./support/until.ts";

let app: Assessment;
let server: NextServer;

beforeAll(async () => {
  app = await openAssessment();
  server = await app.serve();
});
afterAll(async () => {
  await server?.kill();
  await app?.stop();
});

const statusesOf = (answers: readonly Response[]) => answers.map(({ status }) => status).sort();

/** Of the job that was started, or of the one in the way. */
async function idIn(answer: Response): Promise<string | undefined> {
  const body = (await answer.json()) as { id?: string; error?: { id: string } };
  return body.id ?? body.error?.id;
}

function nothingUnfinished(): Promise<boolean> {
  const sql = "select 1 from leasehold.jobs where status in ('queued', 'running')";
  return until(async () => (await app.database.query(sql)).length === 0, "the end of all jobs");
}

describe("many submits at once", () => {
  test("of two by a user with one point, fifty times, one starts and one is told of it", async () => {
    for (let round = 1; round <= 50; round += 1) {
      await grant(app.database, "ann", 1);
      app.outside.hold();
      const both = await Promise.all([submit(server, "ann"), submit(server, "ann")]);
      expect(statusesOf(both)).toEqual([202, 409]);
      const ids = await Promise.all(both.map(idIn));
      expect(new Set(ids).size).toBe(1);
      app.outside.release();
      await nothingUnfinished();
    }
    expect(await jobsOf(app.database, "ann")).toHaveLength(50);
    const all = await entriesOf(app.database, "ann");
    const round = ["grant", "hold", "capture"];
    expect(all).toEqual(Array.from({ length: 50 }, () => round).flat());
    expect(await creditsOf(app.database, "ann")).toEqual({ available: 0, held: 0 });
  });

  test("ten users with three points each never start more than three, whatever they send", async () => {
    const users = Array.from({ length: 10 }, (_, i) => `user-${i}`);
    for (const user of users) await grant(app.database, user, 3);
    const answered = new Map<number, number>();
    for (let storms = 0; (answered.get(402) ?? 0) < 200 && storms < 20; storms += 1) {
      answered.delete(402);
      const storm = users.flatMap((user) =>
        Array.from({ length: 20 }, (_, i) => submit(server, user, `${i} Storm Street`)),
      );
      for (const { status } of await Promise.all(storm)) {
        answered.set(status, (answered.get(status) ?? 0) + 1);
      }
      await nothingUnfinished();
    }
    const broken = "select last_error_message from leasehold.jobs where status <> 'completed'";
    expect(await app.database.query(broken)).toEqual([]);
    // The last storm found nobody with a point left.
    expect(answered.get(402)).toBe(200);
    expect(answered.get(202)).toBe(30);
    expect([...answered.keys()].sort()).toEqual([202, 402, 409]);
    for (const user of users) {
      expect((await entriesOf(app.database, user)).sort()).toEqual(
        ["capture", "hold"].flatMap((kind) => [kind, kind, kind]).toSpliced(3, 0, "grant"),
      );
    }
  });

  test("leave the books balanced, and no deadlock behind", async () => {
    expect(await violations(app.database)).toEqual([]);
    expect(app.database.log()).not.toMatch(/deadlock/i);
  });
});

describe("what nobody should send", () => {
  const json = { "content-type": "application/json" };
  const body = JSON.stringify({ address: "1 Foreign Street" });

  test("another's job, an unknown one and a malformed id are answered with the same bytes", async () => {
    const [job] = await jobsOf(app.database, "ann");
    const ids = [
      job?.id,
      "0198c5b8-0000-7000-8000-000000000000",
      "1;drop",
      "%00",
      "x".repeat(3_000),
    ];
    const seen = await Promise.all(
      ids.map(async (id) => {
        const answer = await request(server, "user-1", `/jobs/${id}`);
        const headers = [...answer.headers].filter(([name]) => name !== "date");
        return JSON.stringify([answer.status, headers, await answer.text()]);
      }),
    );
    expect(seen[0]).toContain("[404,");
    expect(new Set(seen).size).toBe(1);
  });

  const wrong: [string, number, string, RequestInit, string?][] = [
    ["nobody", 401, "/jobs/assess", { method: "POST", headers: json, body }],
    [
      "a forged cookie",
      401,
      "/jobs/assess",
      {
        method: "POST",
        headers: { ...json, cookie: "assessment-user=ann.AAAA" },
        body,
      },
    ],
    [
      "a forged Origin",
      403,
      "/jobs/assess",
      {
        method: "POST",
        headers: { ...json, origin: "https://evil.example" },
        body,
      },
      "ann",
    ],
    [
      "a page of another site",
      403,
      "/jobs/assess",
      {
        method: "POST",
        headers: { ...json, "sec-fetch-site": "cross-site" },
        body,
      },
      "ann",
    ],
    ["JSON rubbish", 400, "/jobs/assess", { method: "POST", headers: json, body: "{]" }, "ann"],
    [
      "an address that is none",
      400,
      "/jobs/assess",
      {
        method: "POST",
        headers: json,
        body: JSON.stringify({ address: 7 }),
      },
      "ann",
    ],
    ["a form", 415, "/jobs/assess", { method: "POST", body: new URLSearchParams("a=1") }, "ann"],
    [
      "10 MB",
      413,
      "/jobs/assess",
      {
        method: "POST",
        headers: json,
        body: JSON.stringify({ address: "x".repeat(10 * 1_048_576) }),
      },
      "ann",
    ],
    [
      "a kind that is not listed",
      404,
      "/jobs/transfer",
      { method: "POST", headers: json, body },
      "ann",
    ],
    ["a wrong method", 405, "/jobs/assess", { method: "DELETE" }, "ann"],
    ["a wrong method of a route", 405, "/jobs/x/cancel", {}, "ann"],
    ["a retry by its owner", 403, "/jobs/x/retry", { method: "POST" }, "ann"],
    ["a drain without the secret", 403, "/drain", { method: "POST" }, "ann"],
  ];

  test.each(wrong)(
    "%s is answered %i, and nothing is written",
    async (_, status, path, init, user) => {
      await grant(app.database, "ann", 1);
      const rows =
        "select (select count(*) from leasehold.jobs) + (select count(*) from leasehold.holds) as n";
      const before = await app.database.query(rows);
      expect((await request(server, user ?? null, path, init)).status).toBe(status);
      expect(await app.database.query(rows)).toEqual(before);
    },
  );
});
