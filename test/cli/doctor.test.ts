import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { pgBouncerBinary, startPgBouncer } from "../support/pgbouncer.ts";
import { leasehold } from "./binary.ts";

let db: TestDatabase;
let route: Server | undefined;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterEach(() => void route?.close());
afterAll(() => db.close());

const env = (more = {}) => ({ DATABASE_URL: db.url, ...more });

async function routeThat(answers: RequestListener): Promise<string> {
  const server = createServer(answers).listen(0, "127.0.0.1");
  route = server;
  await new Promise((resolve) => server.once("listening", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/drain`;
}

describe("leasehold doctor", () => {
  it("has nothing to say where all is well, and asks the route once, without the secret", async () => {
    const asked: unknown[] = [];
    const url = await routeThat(({ method, headers }, response) => {
      asked.push([method, headers.authorization]);
      response.writeHead(401).end();
    });
    const secret = { CRON_SECRET: "1234567890123456" };
    const end = await leasehold(["doctor", "--drain-url", url], { env: env(secret) });
    expect(end).toEqual({ code: 0, stdout: "", stderr: "All is well.\n" });
    expect(asked).toEqual([["GET", undefined]]);
  });

  it("tells what is wrong, and what mends it; a warning is no failure", async () => {
    await db.query(`insert into leasehold.alerts (at, severity, code, message)
      values (now(), 'critical', 'MONEY_UNKNOWN', 'm')`);
    const end = await leasehold(["doctor"], { env: env({ CRON_SECRET: "short" }) });
    expect(end.code).toBe(0);
    expect(end.stdout).toBe(
      "WARNING (route) CRON_SECRET has 5 characters, so the drain route is closed\n" +
        "  Set it to at least 16: openssl rand -hex 32\n\n" +
        "WARNING (alerts) 1 alerts are open, 1 of them critical\n" +
        "  npx leasehold alerts\n",
    );
  });

  it("ends with 1 where something is critical, a redirect to a sign-in say", async () => {
    const url = await routeThat((_, response) => {
      response.writeHead(307, { location: "/login" }).end();
    });
    const end = await leasehold(["doctor", "--json", "--drain-url", url], { env: env() });
    expect(end.code).toBe(1);
    const { findings, facts } = JSON.parse(end.stdout);
    expect(findings).toMatchObject([
      { check: "route", severity: "critical", finding: `${url} redirects to /login` },
    ]);
    expect(facts).toMatchObject({ notifications: "arrive", route: { status: 307 } });
  });

  it("knows functions that are not this leasehold's", async () => {
    const change =
      "update leasehold.migrations set checksum = $1 where version = (select max(version) from leasehold.migrations)";
    const [{ checksum }] = (await db.query(
      "select checksum from leasehold.migrations order by version desc limit 1",
    )) as [{ checksum: string }];
    await db.query(change, ["other"]);
    const end = await leasehold(["doctor"], { env: env() });
    await db.query(change, [checksum]);
    expect(end.stdout).toMatch(
      /^WARNING \(schema\) The functions .*\n {2}npx leasehold migrate\n$/,
    );
  });

  it("says of an older schema that it is older, which has no doctor of its own", async () => {
    const older = await openTestDatabase("postgres");
    await older.query("delete from leasehold.migrations where version >= 5");
    await older.query("drop function leasehold.doctor()");
    const end = await leasehold(["doctor"], { env: { DATABASE_URL: older.url } });
    await older.close();
    expect(end).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^CRITICAL \(schema\) The schema has version 4, this/),
    });
  });

  it.runIf(pgBouncerBinary)("finds out that it goes through a transaction pooler", async () => {
    const pooler = await startPgBouncer(db.url);
    const options = { env: { DATABASE_URL: pooler.url(db.url) } };
    const end = await leasehold(["doctor"], options);
    const direct = await leasehold(["doctor", "--listen-url", db.url], options);
    await pooler.stop();
    expect(end.stdout).toMatch(/^WARNING \(pooler\) Notifications do not arrive.*\n.*--listen-url/);
    expect(direct).toMatchObject({ code: 0, stderr: "All is well.\n" });
  });

  it("ends with 1 where the database can't be asked, and 2 for an address that is none", async () => {
    const nowhere = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
    expect((await leasehold(["doctor"], { env: nowhere })).code).toBe(1);
    const elsewhere = await leasehold(["doctor", "--schema", "elsewhere"], { env: env() });
    expect(elsewhere.stderr).toMatch(/"elsewhere" is missing.*\n.*leasehold migrate/);
    const bad = await leasehold(["doctor", "--drain-url", "drain"], { env: env() });
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining("http://") });
  });
});
