import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { schemaVersion } from "../../src/schema/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type Ended, leasehold, type RunOptions } from "./binary.ts";

let db: TestDatabase;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const nobody = "01234567-89ab-7cde-8123-456789abcdef";

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
afterAll(() => db.close());
beforeEach(() => db.reset());

function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return leasehold(args, { ...options, env: { DATABASE_URL: db.url, ...options.env } });
}

/** The one JSON value on stdout, and nothing on stderr but for what a refusal says. */
async function json(...args: string[]): Promise<{ code: number | null; value: unknown }> {
  const { code, stdout, stderr } = await run([...args, "--json"]);
  if (code === 0) expect(stderr).toBe("");
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  return { code, value: JSON.parse(stdout) };
}

async function enqueue(kind: string, options: Record<string, unknown> = {}): Promise<string> {
  const answer = await db.database.call("enqueue", { p_kind: kind, p_options: options });
  return (answer as { id: string }).id;
}

/** Claims one job of the kind and fails it for good. */
async function fail(kind: string): Promise<string> {
  const [job] = (await db.database.call("claim", { p_kinds: [kind] })) as { id: string }[];
  const claim = { p_id: job?.id, p_generation: 1 };
  await db.database.call("fail", { ...claim, p_error: { code: "NO" }, p_permanent: true });
  return job?.id ?? "";
}

describe("enqueue", () => {
  it("stores the payload and every option", async () => {
    const options = "--owner alice --priority -5 --max-attempts 2 --delay 90s --start-within 1h";
    const { stdout, code } = await run([
      ...["enqueue", "greet", '{"name": "受信", "n": [1, null]}', "--key", "a b"],
      ...options.split(" "),
    ]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^created [0-9a-f-]{36} \(queued\)\n$/);
    const [job] = await db.query("select *, run_after - created_at as delay from leasehold.jobs");
    expect(job).toMatchObject({
      kind: "greet",
      payload: { name: "受信", n: [1, null] },
      key: "a b",
      owner: "alice",
      priority: -5,
      max_attempts: 2,
      delay: { minutes: 1, seconds: 30 },
      start_within_ms: 3_600_000,
    });
  });

  it("takes the payload from a number with a sign, from a file and from standard input", async () => {
    await run(["enqueue", "k", "-5"]);
    await run(["enqueue", "k", "-"], { input: '\ufeff{"from": "stdin"}\n' });
    await run(["enqueue", "k", "@package.json"], { cwd: process.cwd() });
    const rows = await db.query("select payload from leasehold.jobs order by id");
    expect(rows.map(({ payload }) => payload)).toEqual([
      -5,
      { from: "stdin" },
      expect.objectContaining({ name: "leasehold" }),
    ]);
  });

  it("says who holds the key, ends with 3, and writes nothing", async () => {
    const id = await enqueue("k", { key: "a" });
    const end = await run(["enqueue", "k", "{}", "--key", "a"]);
    expect(end).toMatchObject({ code: 3, stdout: "" });
    expect(end.stderr).toContain(`conflict: the key is held by ${id} (queued)`);
    expect(await json("enqueue", "k", "{}", "--key", "a")).toEqual({
      code: 3,
      value: { outcome: "conflict", id: null, status: null, holder: { id, status: "queued" } },
    });
    expect(await json("enqueue", "k", "7", "--key", "a", "--on-conflict", "replace")).toEqual({
      code: 0,
      value: { outcome: "replaced", id, status: "queued" },
    });
    expect(await db.value("select count(*) from leasehold.jobs")).toBe(1);
  });

  it("enqueues once under a name", async () => {
    const first = await json("enqueue", "k", "{}", "--once", "today", "--once-for", "1d");
    const again = await json("enqueue", "k", "{}", "--once", "today");
    const id = (first.value as { id: string }).id;
    expect(id).toMatch(uuid);
    expect(again).toEqual({ code: 0, value: { outcome: "duplicate", id, status: "queued" } });
  });

  it("leaves a bad moment to the database, and ends with 2", async () => {
    const end = await run(["enqueue", "k", "{}", "--run-after", "2030-13-31T12:00:00Z"]);
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toMatch(/^leasehold: run_after is "2030-13-31T12:00:00Z"\.\nGive a time/);
  });
});

describe("status", () => {
  it("shows a job to people and to programs", async () => {
    const id = await enqueue("greet", { owner: "alice" });
    const { code, stdout, stderr } = await run(["status", id.toUpperCase(), "--owner", "alice"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^id {10}[0-9a-f-]{36}\nkind {8}greet\nstatus {6}queued\n/);
    expect(stdout).toMatch(/\ncreated {5}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\n/);
    expect(await json("status", id)).toEqual({
      code: 0,
      value: await db.database.call("status", { p_id: id }),
    });
  });

  it("ends with 3 for a job that is unknown or another owner's, and says the same of both", async () => {
    const id = await enqueue("greet", { owner: "alice" });
    for (const each of [id, nobody]) {
      const end = await run(["status", each, "--owner", "bob"]);
      expect(end).toMatchObject({ code: 3, stdout: "" });
      expect(end.stderr).toContain(`There is no job ${each} of the owner "bob".`);
      expect(await json("status", each, "--owner", "bob")).toEqual({ code: 3, value: null });
    }
  });

  it("rounds no number", async () => {
    const id = await enqueue("ledger");
    const result = '{"amount": 9007199254740993}';
    await db.query("update leasehold.jobs set result = $1::text::jsonb", [result]);
    const { stdout } = await run(["status", id, "--json"]);
    expect(stdout).toContain(`"result": ${result}`);
    expect((await run(["status", id])).stdout).toContain("9007199254740993");
  });
});

describe("jobs", () => {
  it("lists whole ids, newest first, with what matters of each", async () => {
    const first = await enqueue("fetch", { key: "受信 1" });
    await enqueue("mail");
    const failed = await fail("fetch");
    const { code, stdout, stderr } = await run(["jobs"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const [titles, newest, oldest] = stdout.split("\n");
    expect(titles).toMatch(/^ID +STATUS +ATTEMPTS +CREATED +THEN +KIND +ERROR +KEY$/);
    expect(newest).toMatch(/^\S{36} {2}queued {2}0\/5 .* due \d{4}-.* mail$/);
    expect(oldest).toMatch(/failed {2}1\/5 .* ended \d{4}-.* fetch +NO +受信 1$/);
    expect(oldest?.startsWith(failed)).toBe(true);
    expect(failed).toBe(first);
  });

  it("filters, and hands out pages", async () => {
    const ids = [await enqueue("a", { owner: "x" }), await enqueue("a"), await enqueue("b")];
    await fail("b");
    const listed = async (...args: string[]): Promise<unknown[]> => {
      const { value } = await json("jobs", ...args);
      return (value as { jobs: { id: string }[] }).jobs.map(({ id }) => id);
    };
    expect(await listed("--kind", "a", "--owner", "x")).toEqual([ids[0]]);
    expect(await listed("--error-code", "NO")).toEqual([ids[2]]);
    expect(await listed("--status", "failed", "--status", "running")).toEqual([ids[2]]);

    const page = await run(["jobs", "--limit=2"]);
    expect(page.stderr).toBe(`There are more: --after ${ids[1]}\n`);
    expect(await listed("--limit", "2", "--after", ids[1] ?? "")).toEqual([ids[0]]);
  });

  it("answers an empty list: nothing on stdout, one JSON value on request", async () => {
    expect(await run(["jobs"])).toEqual({ code: 0, stdout: "", stderr: "No jobs.\n" });
    expect(await json("jobs")).toEqual({ code: 0, value: { jobs: [], next: null } });
  });
});

describe("retry and cancel", () => {
  it("retry those that failed, name those that it can't, and then end with 3", async () => {
    await enqueue("k", { key: "a" });
    const failed = await fail("k");
    const queued = await enqueue("k");
    expect(await run(["retry", failed])).toEqual({ code: 0, stdout: "1 retried\n", stderr: "" });

    const end = await run(["retry", failed, queued, nobody, nobody]);
    expect(end).toMatchObject({ code: 3, stdout: "" });
    expect(end.stderr.match(/not retried/g)).toHaveLength(3);
    expect(end.stderr).toContain(`${nobody}: not retried: there is no such job`);
  });

  it("say that another job holds the key", async () => {
    await enqueue("k", { key: "a" });
    const failed = await fail("k");
    await enqueue("k", { key: "a" });
    expect(await json("retry", failed)).toEqual({
      code: 3,
      value: { retried: 0, skipped: [{ id: failed, outcome: "conflict" }] },
    });
  });

  it("cancel what is queued, ask what is running, and respect the owner", async () => {
    const [running, queued, other] = [
      await enqueue("r"),
      await enqueue("k"),
      await enqueue("k", { owner: "alice" }),
    ];
    await db.database.call("claim", { p_kinds: ["r"] });
    expect(await json("cancel", running, queued)).toEqual({
      code: 0,
      value: { cancelled: 1, requested: 1, skipped: [] },
    });
    expect(await json("cancel", other, "--owner", "bob")).toEqual({
      code: 3,
      value: { cancelled: 0, requested: 0, skipped: [{ id: other, outcome: "unknown" }] },
    });
    expect((await run(["cancel", queued])).stderr).toContain("it has ended already");
  });
});

describe("stats and prune", () => {
  it("count per kind", async () => {
    await enqueue("a");
    await enqueue("a", { delay_ms: 60_000 });
    await enqueue("b");
    await fail("b");
    const { stdout } = await run(["stats"]);
    expect(stdout).toMatch(/^QUEUED {2}DUE {2}OLDEST DUE .* KIND\n {5}2 {4}1 .* a\n {5}0 .* b\n$/);
    const { value } = await json("stats");
    expect(value).toMatchObject({
      kinds: [
        { kind: "a", due: 1 },
        { kind: "b", failed: 1 },
      ],
    });
  });

  it("delete what is finished, up to the limit", async () => {
    for (const kind of ["a", "b", "b"]) {
      await enqueue(kind);
      await fail(kind);
    }
    expect((await run(["prune"])).stdout).toBe("0 jobs deleted\n"); // kinds retain for ever
    expect((await run(["prune", "--older-than", "1h"])).stdout).toBe("0 jobs deleted\n");
    const one = ["prune", "--older-than", "0s", "--kind", "b", "--status", "failed"];
    const limited = await run([...one, "--limit", "1"]);
    expect(limited.stdout).toBe("1 job deleted\n");
    expect(limited.stderr).toContain("run it again");
    expect(await json(...one)).toEqual({ code: 0, value: { deleted: 1 } });
    expect(await db.value("select kind from leasehold.jobs")).toBe("a");
  });
});

describe("migrate", () => {
  it("prints the SQL without a database", async () => {
    const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
    const { code, stdout, stderr } = await run(["migrate", "--print", "--schema", "Own"], { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain('create or replace function "Own".enqueue(');
  });

  it("installs another schema, whose absence other commands name", async () => {
    const missing = await run(["jobs", "--schema", "own"]);
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(missing.stderr).toMatch(/^leasehold: The schema "own" is missing.*\nRun `leasehold mig/);

    const role = `cli_${process.pid}`;
    await db.query(`create role ${role}`);
    const args = ["migrate", "--schema", "own", "--role", role];
    expect((await run(args)).stdout).toBe(`The schema "own" is now at version ${schemaVersion}.\n`);
    expect(await json("migrate", "--schema", "own")).toEqual({
      code: 0,
      value: { version: schemaVersion, changed: false },
    });
    const granted = "select has_function_privilege($1, 'own.stats()', 'execute')";
    expect(await db.value(granted, [role])).toBe(true);
    await db.query(`drop schema own cascade; drop role ${role}`);
  });

  it("gives signed-in users their own status on request, and takes it away again", async () => {
    const schema = ["--schema", "own"];
    const there = () => db.value("select to_regproc('own.my_job') is not null");
    await db.query("create schema auth; create role authenticated");
    await db.query("create function auth.uid() returns uuid language sql as 'select null::uuid'");
    expect(await run(["migrate", ...schema])).toMatchObject({ code: 0 });
    expect(await there()).toBe(false);
    expect(await run(["migrate", ...schema, "--my-job"])).toMatchObject({ code: 0 });
    expect(await run(["migrate", ...schema])).toMatchObject({ code: 0 });
    expect(await there()).toBe(true);
    expect(await run(["migrate", ...schema, "--no-my-job"])).toMatchObject({ code: 0 });
    expect(await there()).toBe(false);
    await db.query("drop schema own, auth cascade; drop role authenticated");

    const refused = await run(["migrate", ...schema, "--my-job"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain("auth.uid()");
    const both = await run(["migrate", "--print", "--my-job", "--no-my-job"]);
    expect(both).toMatchObject({ code: 2, stdout: "" });
    expect(both.stderr).toContain("exclude each other");
    const printed = await run(["migrate", "--print", "--no-my-job"]);
    expect(printed.stdout).not.toContain("my_job(p_id uuid)");
  });

  it("ends with 2 for a role that does not exist", async () => {
    const end = await run(["migrate", "--role", "nobody_at_all"]);
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toContain("nobody_at_all");
  });

  it("takes the database of --database-url before that of the environment", async () => {
    const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
    expect(await run(["jobs", "--database-url", db.url], { env })).toMatchObject({ code: 0 });
    const gone = await run(["jobs", "--database-url", `${db.url}_none`]);
    expect(gone.code).toBe(1);
    expect(gone.stderr).toContain("\nCreate that database, or correct its name");
  });
});
