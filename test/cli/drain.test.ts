import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { renderSql } from "../../src/schema/index.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { type Ended, leasehold, makeProject, type Project, startLeasehold } from "./binary.ts";
import * as modules from "./handlers.ts";

let db: TestDatabase;
let project: Project;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  project = makeProject();
  for (const [name, text] of Object.entries(modules)) project.write(`${name}.ts`, text);
});
afterAll(async () => {
  project.remove();
  await db.close();
});
beforeEach(() => db.reset());

const options = () => ({ cwd: project.folder, env: { DATABASE_URL: db.url } });

function drain(...args: string[]): Promise<Ended> {
  return leasehold(["drain", ...args], options());
}

async function enqueue(kind: string, payload: unknown = {}): Promise<string> {
  const answer = await db.database.call("enqueue", { p_kind: kind, p_payload: payload });
  return (answer as { id: string }).id;
}

describe("drain", () => {
  it("reports each job and why it stopped, and ends with 0 though jobs failed", async () => {
    await enqueue("greet", { name: "受信" });
    await enqueue("fail");
    await enqueue("greet", { name: 7 });
    const { code, stdout, stderr } = await drain("mixed.ts", "--max-jobs", "9");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(
      stdout.replaceAll(/[0-9a-f-]{36}/g, "UUID").replaceAll(/\d+(\.\d)?m?s\b */g, "T "),
    ).toBe(`ID                                    OUTCOME    ATTEMPT  TOOK  KIND   WHY
UUID  completed        1  T greet
UUID  failed           1  T fail   NEVER
UUID  failed           1  T greet  INVALID_PAYLOAD

3 jobs in T : 1 completed, 2 failed. Stopped: nothing more was due.
`);
    const results = await db.query("select result from leasehold.jobs order by id");
    expect(results[0]).toEqual({ result: "hello 受信" });
  });

  it("answers its report as one JSON value, whatever the handlers print", async () => {
    project.write("go", "");
    await enqueue("wait");
    const { code, stdout, stderr } = await drain("waiting.ts", "--json", "--max-jobs=1");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "started attempt 1\n" });
    expect(JSON.parse(stdout)).toMatchObject({
      reason: "maxJobs",
      processed: 1,
      completed: 1,
      jobs: [{ kind: "wait", attempt: 1, outcome: "completed" }],
    });
  });

  it("takes only the kinds that it is told", async () => {
    await enqueue("greet", { name: "x" });
    await enqueue("fail");
    const one = await drain("mixed.ts", "--kinds", "fail", "--json");
    expect(JSON.parse(one.stdout)).toMatchObject({ reason: "empty", processed: 1, failed: 1 });
    const both = await drain("mixed.ts", "--kinds", "fail,greet", "--json");
    expect(JSON.parse(both.stdout)).toMatchObject({ processed: 1, completed: 1 });

    const unknown = await drain("mixed.ts", "--kinds", "other");
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toMatch(/is "other"\.\nGive .*: greet, fail\.\n$/);
  });

  it("returns by its budget, and gives the job in hand back", async () => {
    project.write("never.ts", modules.waiting.replace('existsSync("go")', "false"));
    const id = await enqueue("wait");
    const { code, stdout } = await drain("never.ts", "--budget", "2s", "--reserve", "200ms");
    expect(code).toBe(0);
    expect(stdout).toMatch(/ released +1 .* BUDGET_EXCEEDED\n\n.* Stopped: too little was left/);
    const state = await db.database.call("status", { p_id: id });
    expect(state).toMatchObject({ status: "queued", attempts: 0 });
  });

  it("ends with 1 when the database fails it between two jobs, and still reports", async () => {
    rmSync(join(project.folder, "go"), { force: true });
    await enqueue("wait");
    const running = startLeasehold(["drain", "waiting.ts"], options());
    await running.says("started");
    await db.query("drop function leasehold.claim");
    project.write("go", "");
    const { code, stdout, stderr } = await running.ended;
    await db.database.script(renderSql());
    expect(code).toBe(1);
    expect(stdout).toMatch(/1 completed\. Stopped: the database could not be asked/);
    expect(stderr).toMatch(/is missing in this database.*\(LH007\)\.\nRun `leasehold migrate`/);
    expect(stderr).not.toMatch(/Run `leasehold migrate`.*\(LH007\)/);
  });

  it("ends with 1 when it can't begin, and prints no report", async () => {
    const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
    const end = await leasehold(["drain", "mixed.ts"], { ...options(), env });
    expect(end).toMatchObject({ code: 1, stdout: "" });
    expect(end.stderr).toMatch(/^leasehold: .*ECONNREFUSED/);
  });
});

describe("a client of the module's own", () => {
  it("is drained as it is; its listener that throws changes nothing", async () => {
    await enqueue("greet");
    const end = await drain("client.ts");
    expect(end.code).toBe(0);
    expect(end.stdout).toContain("1 completed");
    expect(end.stderr).toContain("a listener threw");
  });

  it("keeps its database: options that name another are refused", async () => {
    const end = await drain("client.ts", "--database-url", db.url);
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toContain("Leave out --database-url, or export the handlers");
  });
});

describe("errors that nobody awaits", () => {
  it("are logged where a promise was forgotten, and the drain goes on (S31)", async () => {
    await enqueue("forgotten");
    await enqueue("forgotten");
    const { code, stdout, stderr } = await drain("stray.ts");
    expect(code).toBe(0);
    expect(stdout).toContain("2 jobs");
    expect(stdout).toContain("2 completed");
    const line =
      "leasehold: a promise that nobody awaits was rejected, and the drain goes on: late\n";
    expect(stderr).toBe(line + line);
  });

  it("end the process where a timer throws, and the lease brings the job back (S31)", async () => {
    const id = await enqueue("exploding");
    const end = await drain("stray.ts");
    expect(end).toMatchObject({ code: 1, stdout: "" });
    expect(end.stderr).toMatch(/nothing caught ends the process: boom\nThe job in hand comes back/);
    const state = await db.database.call("status", { p_id: id });
    expect(state).toMatchObject({ status: "running", attempts: 1 });
  });
});

describe("a reader that goes away", () => {
  it("is no failure of a list", async () => {
    const jobs = Array.from({ length: 1_000 }, (_, i) => ({ kind: "k", key: `key ${i}` }));
    await db.database.call("enqueue_many", { p_jobs: jobs });
    const running = startLeasehold(["jobs", "--limit", "1000"], options());
    running.child.stdout?.once("data", () => running.child.stdout?.destroy());
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("doesn't stop a drain", async () => {
    await enqueue("greet", { name: "x" });
    const running = startLeasehold(["drain", "mixed.ts"], options());
    running.child.stdout?.destroy();
    expect(await running.ended).toMatchObject({ code: 0, stderr: "" });
    expect(await db.value("select status from leasehold.jobs")).toBe("completed");
  });
});
