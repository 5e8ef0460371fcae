import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { age } from "../support/ageing.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { leasehold, makeProject, type Project, type Running, startLeasehold } from "./binary.ts";
import { waiting } from "./handlers.ts";

let db: TestDatabase;
let project: Project;
let ids: string[];

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  project = makeProject();
  project.write("waiting.ts", waiting);
});
afterAll(async () => {
  project.remove();
  await db.close();
});
beforeEach(async () => {
  rmSync(join(project.folder, "go"), { force: true });
  await db.reset();
  const jobs = [{ kind: "wait" }, { kind: "wait" }];
  const answers = await db.database.call("enqueue_many", { p_jobs: jobs });
  ids = (answers as { id: string }[]).map(({ id }) => id);
});

const options = () => ({ cwd: project.folder, env: { DATABASE_URL: db.url } });

/** A drain with the first job in hand. */
async function startDrain(): Promise<Running> {
  const running = startLeasehold(["drain", "waiting.ts"], options());
  await running.says("started attempt 1");
  return running;
}

/** The statuses of the two jobs. */
async function statuses(): Promise<string[]> {
  const rows = await db.query("select status from leasehold.jobs order by id");
  return rows.map(({ status }) => status);
}

describe("a drain that is told to stop (S29)", () => {
  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)(
    "by %s finishes the job in hand, claims no other, and ends with %i",
    async (signal, code) => {
      const running = await startDrain();
      running.child.kill(signal);
      await running.says("Stopping after the job in hand");
      project.write("go", "");
      const end = await running.ended;
      expect(end.code).toBe(code);
      expect(end.stdout).toContain("1 completed. Stopped: the process was told to stop.");
      expect(await statuses()).toEqual(["completed", "queued"]);
    },
  );

  it("by a second Ctrl-C ends at once, and the job comes back with its lease", async () => {
    const running = await startDrain();
    running.child.kill("SIGINT");
    await running.says("Ctrl-C again ends at once");
    const impatience = setInterval(() => running.child.kill("SIGINT"), 50);
    const end = await running.ended;
    clearInterval(impatience);
    expect(end).toMatchObject({ code: 130, stdout: "" });
    expect(await statuses()).toEqual(["running", "queued"]);
    await expectRecovery();
  });

  it("before it has begun claims nothing", async () => {
    project.write(
      "slow.ts",
      `console.log("loading"); await new Promise(() => setInterval(() => {}, 1e6));`,
    );
    for (const [signal, code] of [
      ["SIGTERM", 143],
      ["SIGINT", 130],
    ] as const) {
      const running = startLeasehold(["drain", "slow.ts"], options());
      await running.says("loading");
      running.child.kill(signal);
      expect(await running.ended).toMatchObject({ code, stdout: "" });
    }
    expect(await statuses()).toEqual(["queued", "queued"]);
  });

  it("by SIGKILL leaves a job that the next drain takes when its lease has run out", async () => {
    const running = await startDrain();
    running.child.kill("SIGKILL");
    expect(await running.ended).toMatchObject({ code: null, stdout: "" });
    await expectRecovery();
  });
});

/** Lets the lease of the first job run out; then the next drain completes both. */
async function expectRecovery(): Promise<void> {
  await age(db, ids[0] ?? "", 61_000);
  project.write("go", "");
  const { code, stdout } = await leasehold(["drain", "waiting.ts", "--json"], options());
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    reason: "empty",
    jobs: [
      { id: ids[0], attempt: 2, outcome: "completed" },
      { id: ids[1], attempt: 1, outcome: "completed" },
    ],
  });
}
