import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { schemaVersion } from "../../src/schema/index.ts";
import { leasehold, makeProject, type Project, startLeasehold } from "./binary.ts";
import { waiting } from "./handlers.ts";

let project: Project;
let id: string;

beforeAll(async () => {
  project = makeProject();
  project.write("waiting.ts", waiting.replace("60s", "1s"));
  const end = await leasehold(["enqueue", "wait", "{}", "--json"], { cwd: project.folder });
  expect({ code: end.code, stderr: end.stderr }).toEqual({ code: 0, stderr: "" });
  id = JSON.parse(end.stdout).id;
});
afterAll(() => project.remove());

const run = (...args: string[]) => leasehold(args, { cwd: project.folder });

describe("the embedded database of the working directory", () => {
  it("is made, migrated and found again without a word to a program", async () => {
    expect(existsSync(join(project.folder, ".leasehold/pgdata"))).toBe(true);
    const { code, stdout, stderr } = await run("jobs");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain(id);
    const migrated = await run("migrate", "--json");
    expect(migrated).toEqual({
      code: 0,
      stdout: `{"version":${schemaVersion},"changed":false}\n`,
      stderr: "",
    });
  });

  it("belongs to one process; killed in the middle of a job, it leaves all to the next", async () => {
    const owner = startLeasehold(["drain", "waiting.ts"], { cwd: project.folder });
    await owner.says("started attempt 1");
    const second = await run("jobs");
    expect(second).toMatchObject({ code: 1, stdout: "" });
    expect(second.stderr).toMatch(
      new RegExp(
        `owned by process ${owner.child.pid} \\(LH102\\)\\.\nFor several processes set DATA`,
      ),
    );

    owner.child.kill("SIGKILL");
    expect(await owner.ended).toMatchObject({ code: null });
    project.write("go", "");
    let report = { processed: 0 };
    while (report.processed === 0) {
      const { code, stdout } = await run("drain", "waiting.ts", "--json"); // its lease is a second
      expect(code).toBe(0);
      report = JSON.parse(stdout);
    }
    expect(report).toMatchObject({ jobs: [{ id, attempt: 2, outcome: "completed" }] });
    expect((await run("status", id)).stdout).toMatch(
      /\nstatus +completed\n[\s\S]*\nresult +"waited"\n/,
    );
  });
});
