import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../support/postgres-server.ts";
import { type Ended, leasehold, makeProject, type Project } from "./binary.ts";
import { type Line, shellLines } from "./docs-commands.ts";
import { type } from "./docs-typing.ts";

/** What docs/start.md has its reader type until it comes to a database server. */
function typedFirst(): Line[] {
  const lines = shellLines().filter(({ page }) => page === "docs/start.md");
  const withServer = lines.findIndex(({ program }) => program === "docker");
  const ours = (line: Line) => line.program === "leasehold" || line.program === "node";
  return lines.slice(0, withServer).filter(ours);
}

describe("the first page of the documentation, without a database", () => {
  let project: Project;
  beforeAll(() => {
    project = makeProject();
  });
  afterAll(() => project.remove());

  /** Types a line of the page where its reader does. */
  async function follow(line: Line): Promise<Ended> {
    const unknown = { queued: "", failed: "", completed: "" };
    const surroundings = { databaseUrl: "", applicationUrl: "", jobs: unknown };
    return type(line, project, { ...surroundings, freePort: await freePort() }, {});
  }

  it("leads to jobs that are completed, with what their handler answered", async () => {
    const ends: [string, number | null][] = [];
    for (const line of typedFirst()) ends.push([line.command, (await follow(line)).code]);
    expect(ends).toEqual([
      ["enqueue", 0],
      ["drain", 0],
      ["jobs", 0],
      ["dashboard", 143],
      ["app.mjs", 0],
      ["drain", 0],
    ]);
    const json = async (...args: string[]) => {
      const { stdout } = await leasehold([...args, "--json"], { cwd: project.folder });
      return JSON.parse(stdout);
    };
    const { jobs } = await json("jobs");
    const told = [];
    for (const { id } of jobs) told.push(await json("status", id));
    expect(told).toMatchObject([
      { status: "completed", result: { greeting: "Hello, Grace!" } },
      { status: "completed", result: { greeting: "Hello, Ada!" } },
    ]);
  });
});
