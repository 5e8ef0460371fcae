import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { leasehold, type Running, startLeasehold } from "./binary.ts";

let db: TestDatabase;
let running: Running | undefined;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
beforeEach(() => db.reset());
afterEach(() => void running?.child.kill("SIGKILL"));
afterAll(() => db.close());

const env = () => ({ DATABASE_URL: db.url, NODE_ENV: "production" });

/** Starts it on a free port; answers its address. */
async function begin(...options: string[]): Promise<string> {
  running = startLeasehold(["dashboard", "--port", "0", ...options], { env: env() });
  const { stdout } = running.child;
  return new Promise((resolve, reject) => {
    let said = "";
    stdout?.on("data", (chunk) => {
      said += chunk;
      if (said.endsWith("\n")) resolve(said.trim());
    });
    void running?.ended.then((end) => reject(new Error(JSON.stringify(end))));
  });
}

const act = (url: string, headers: Record<string, string> = {}) =>
  fetch(`${url}?api=act`, {
    method: "POST",
    headers: {
      origin: new URL(url).origin,
      "x-leasehold-dashboard": "1",
      "content-type": "application/json",
      ...headers,
    },
    body: JSON.stringify({ action: "pause", kind: "mail" }),
  });

/** The status that a request gets which names another host. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on("error", reject).end();
  });
}

describe("leasehold dashboard", () => {
  it("serves the page on this machine, to be looked at", async () => {
    const url = await begin();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    await running?.says("It only shows. With --write it acts, too.");
    const page = await fetch(url);
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'/);
    expect(await page.text()).toMatch(/^<!doctype html>/);
    const session = await (await fetch(`${url}?api=session`)).json();
    expect(session).toEqual({ role: "read", name: "the command line", title: "leasehold" });
    const overview = (await (await fetch(`${url}?api=overview`)).json()) as { answer: object };
    expect(overview.answer).toMatchObject({ due: 0 });
    expect((await act(url)).status).toBe(403);
    expect((await fetch(`${url}favicon.ico`)).status).toBe(404);
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
  });

  it("acts with --write, for its own page alone", async () => {
    const url = await begin("--write");
    expect((await act(url, { origin: "https://evil.example.com" })).status).toBe(403);
    expect(await db.value("select count(*) from leasehold.kinds")).toBe(0);
    expect((await act(url)).status).toBe(200);
    expect(await db.query("select kind from leasehold.kinds where paused_at is not null")).toEqual([
      { kind: "mail" },
    ]);
  });

  it("answers no page of another name that leads here", async () => {
    const url = await begin("--write");
    const { port } = new URL(url);
    expect(await statusFor(url, `evil.example.com:${port}`)).toBe(421);
    expect(await statusFor(url, `127.0.0.1.evil.example.com:${port}`)).toBe(421);
    expect(await statusFor(url, `localhost:${port}`)).toBe(200);
    expect(await statusFor(url, `[::1]:${port}`)).toBe(200);
  });

  it("warns of an address that others reach", async () => {
    const url = await begin("--host", "0.0.0.0");
    await running?.says("Whoever reaches this address sees it all, without a password.");
    expect(await statusFor(url.replace("0.0.0.0", "127.0.0.1"), "intranet.example.com")).toBe(200);
  });

  it("tells where it is as JSON, and ends when it is told to", async () => {
    const { url, role } = JSON.parse(await begin("--json"));
    expect([new URL(url).hostname, role]).toEqual(["127.0.0.1", "read"]);
    await fetch(url); // a connection that the client keeps open
    running?.child.kill("SIGTERM");
    expect(await running?.ended).toMatchObject({ code: 143 });
  });

  it("ends with 1 and the next step where it can't begin", async () => {
    const elsewhere = ["dashboard", "--port", "0", "--schema", "elsewhere"];
    const missing = await leasehold(elsewhere, { env: env() });
    expect(missing.code).toBe(1);
    expect(missing.stderr).toMatch(/"elsewhere" is missing.*\n.*leasehold migrate/);
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const { port } = taken.address() as AddressInfo;
    const busy = await leasehold(["dashboard", "--port", `${port}`], { env: env() });
    taken.close();
    expect(busy.code).toBe(1);
    expect(busy.stderr).toMatch(/^leasehold: Port \d+: .*EADDRINUSE.*\nGive another --port/);
  });

  it.each([
    ["--port", "70000"],
    ["--port", "http"],
  ])("ends with 2 for %s %s", async (option, value) => {
    const end = await leasehold(["dashboard", option, value], { env: env() });
    expect(end).toMatchObject({ code: 2, stderr: expect.stringContaining(value) });
  });
});
