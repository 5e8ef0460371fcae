import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

let db: TestDatabase;
let proxy: TcpProxy;
const open: pg.Client[] = [];

beforeAll(async () => {
  db = await openTestDatabase("postgres", { migrated: false });
});
beforeEach(async () => {
  proxy = await startTcpProxy(db.url);
});
afterEach(async () => {
  await proxy.close();
  for (const client of open.splice(0)) await client.end().catch(() => undefined);
});
afterAll(() => db.close());

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: proxy.url });
  client.on("error", () => undefined);
  open.push(client);
  await client.connect();
  return client;
}
const one = async (client: pg.Client) => (await client.query("select 1 as one")).rows[0].one;
const backends = async () =>
  (await db.query("select pid from pg_stat_activity where application_name = 'proxied'")).length;

it("passes everything on, and the end too", async () => {
  const client = await connect();
  await client.query("set application_name = 'proxied'");
  const { rows } = await client.query("select repeat('é', 1000000) as long");
  expect(rows[0].long).toHaveLength(1_000_000);
  await client.end();
  await vi.waitUntil(async () => (await backends()) === 0);
  expect(proxy.connections()).toBe(0);
});

it("cut: resets what is open and what comes, until it is restored", async () => {
  const client = await connect();
  proxy.cut();
  await expect(one(client)).rejects.toThrow();
  await expect(connect()).rejects.toThrow();
  proxy.restore();
  expect(await one(await connect())).toBe(1);
});

it("stall: holds everything back, and loses none of it", async () => {
  const client = await connect();
  await client.query("set application_name = 'proxied'");
  proxy.stall();
  let answered = false;
  const answers = Promise.all([one(client), connect().then(one)]).then((values) => {
    answered = true;
    return values;
  });
  // What was asked has not arrived: the backend is idle in its last statement, as before.
  const asked = await db.query(
    "select query from pg_stat_activity where application_name = 'proxied'",
  );
  expect(asked).toEqual([{ query: "set application_name = 'proxied'" }]);
  expect(answered).toBe(false);
  proxy.restore();
  expect(await answers).toEqual([1, 1]);
});

it("stall: who left meanwhile is heard of afterwards", async () => {
  const client = await connect();
  await client.query("set application_name = 'proxied'");
  proxy.stall();
  (
    client as unknown as { connection: { stream: import("node:net").Socket } }
  ).connection.stream.resetAndDestroy();
  expect(await backends()).toBe(1);
  proxy.restore();
  await vi.waitUntil(async () => (await backends()) === 0);
});

it("fallSilent: the server sees the end, the client nothing", async () => {
  const client = await connect();
  await client.query("set application_name = 'proxied'");
  let told = false;
  client.on("end", () => {
    told = true;
  });
  proxy.fallSilent();
  void one(client).catch(() => undefined);
  await vi.waitUntil(async () => (await backends()) === 0);
  expect(told).toBe(false);
  expect(proxy.connections()).toBe(1);
  expect(await one(await connect())).toBe(1);
});

it("aim: new connections go elsewhere, the open ones stay", async () => {
  const other = await openTestDatabase("postgres", { migrated: false });
  const elsewhere = await startTcpProxy(other.url);
  try {
    const client = await connect();
    proxy.aim(elsewhere.url);
    await connect();
    expect(await one(client)).toBe(1);
    expect(elsewhere.connections()).toBe(1);
  } finally {
    await elsewhere.close();
    await other.close();
  }
});
