import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/database.ts";
import { type DefaultDatabaseOptions, openDefaultDatabase } from "../../src/default-database.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";

const workingDirectory = process.cwd();
let folder = "";
let server: TestDatabase;
const opened: Database[] = [];

beforeAll(async () => {
  server = await openTestDatabase("postgres");
});
afterAll(() => server.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "leasehold-default-"));
  process.chdir(folder);
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close?.()));
  process.chdir(workingDirectory);
  rmSync(folder, { recursive: true });
});

function open(env: NonNullable<DefaultDatabaseOptions["env"]>, schema?: string): Database {
  const database = openDefaultDatabase(schema === undefined ? { env } : { env, schema });
  opened.push(database);
  return database;
}

const enqueue = (to: Database, kind: string): Promise<unknown> =>
  to.call("enqueue", { p_kind: kind });

describe("the default database", () => {
  it("is what DATABASE_URL names, else what POSTGRES_URL names", async () => {
    const nowhere = "postgres://127.0.0.1:1/none";
    await enqueue(open({ DATABASE_URL: server.url, POSTGRES_URL: nowhere }), "first");
    await enqueue(open({ DATABASE_URL: "", POSTGRES_URL: server.url }), "second");
    await enqueue(open({ POSTGRES_URL: server.url, NODE_ENV: "production", VERCEL: "1" }), "third");
    expect(await server.value("select array_agg(kind order by id) from leasehold.jobs")).toEqual([
      "first",
      "second",
      "third",
    ]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("does not migrate a server", async () => {
    const database = open({ DATABASE_URL: server.url }, "another");
    await expect(enqueue(database, "k")).rejects.toMatchObject({ code: "LH007" });
    await expect(enqueue(database, "k")).rejects.toThrow(/leasehold migrate/);
  });

  it("reads the environment at the first call", async () => {
    const env: Record<string, string> = { NODE_ENV: "production" };
    const database = open(env);
    env.DATABASE_URL = server.url;
    expect(await enqueue(database, "k")).toMatchObject({ outcome: "created" });
  });

  it.each([{ NODE_ENV: "production" }, { VERCEL: "1" }])(
    "is none under %o, and the first call names both variables",
    async (env) => {
      const database = open(env);
      await expect(enqueue(database, "k")).rejects.toMatchObject({ code: "LH101" });
      await expect(enqueue(database, "k")).rejects.toThrow(/DATABASE_URL.*POSTGRES_URL/);
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it("says which variable names no PostgreSQL, without its value", async () => {
    const call = enqueue(open({ POSTGRES_URL: "mysql://root:secret@host/db" }), "k");
    await expect(call).rejects.toMatchObject({ code: "LH107" });
    await expect(call).rejects.toThrow(/^POSTGRES_URL names no PostgreSQL.*postgres:\/\//);
    await expect(call).rejects.not.toThrow(/secret/);
  });
});

describe("the embedded default database", () => {
  it("is made by the first call, installs the schema itself, and is hidden from git", async () => {
    const database = open({});
    expect(readdirSync(folder)).toEqual([]);
    expect(await enqueue(database, "k")).toMatchObject({ outcome: "created" });
    const id = await database.transaction?.((tx) => tx.call("claim", { p_kinds: ["k"] }));
    expect(id).toHaveLength(1);
    const embedded = join(folder, ".leasehold");
    expect(readdirSync(embedded).sort()).toEqual([".gitignore", "pgdata", "pgdata.lock"]);
    expect(readFileSync(join(embedded, ".gitignore"), "utf8")).toBe("*\n");

    const again = open({});
    expect(await again.call("stats", {})).toMatchObject({ kinds: [{ kind: "k", running: 1 }] });
    await Promise.all([database.close?.(), again.close?.()]);
    expect(readdirSync(embedded).sort()).toEqual([".gitignore", "pgdata"]);
  });

  it("says what to set where its folder can't be made", async () => {
    writeFileSync(join(folder, ".leasehold"), "");
    const call = enqueue(open({}), "k");
    await expect(call).rejects.toMatchObject({ code: "LH101" });
    await expect(call).rejects.toThrow(/can't be made in \.leasehold\/.*DATABASE_URL/);
  });
});
