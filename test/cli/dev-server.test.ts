import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { leasehold, makeProject, type Project } from "./binary.ts";
import { working } from "./handlers.ts";

let db: TestDatabase;
let project: Project;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
  project = makeProject();
  project.write("working.ts", working);
});
afterAll(async () => {
  project.remove();
  await db.close();
});

const command = [
  ...["--", process.execPath, "-e"],
  "console.log(process.env.DATABASE_URL, process.env.POSTGRES_URL)",
];

describe("leasehold dev where a server is configured", () => {
  it.each(["DATABASE_URL", "POSTGRES_URL"])(
    "uses the one that %s names, and says so",
    async (name) => {
      const end = await leasehold(["dev", ...command], {
        cwd: project.folder,
        env: { [name]: db.url },
      });
      expect(end).toMatchObject({ code: 0, stderr: expect.stringContaining(`that ${name} names`) });
      const [url, other] = name === "DATABASE_URL" ? [db.url, undefined] : [undefined, db.url];
      expect(end.stdout).toBe(`${url} ${other}\n`);
      expect(end.stderr).not.toContain("embedded, in");
    },
  );

  it("sets the environment to the one of --database-url, and runs its jobs", async () => {
    const [{ id }] = (await db.database.call("enqueue_many", {
      p_jobs: [{ kind: "quick" }],
    })) as [{ id: string }];
    const waits = `const { execFileSync } = require("node:child_process"); for (;;) {
      const out = execFileSync(process.execPath, [process.env.MAIN, "status", "${id}", "--json"]);
      if (JSON.parse(out).status === "completed") break; }
      console.log(process.env.DATABASE_URL === process.env.POSTGRES_URL);`;
    const end = await leasehold(
      [
        ...["dev", "--database-url", db.url, "--handlers", "working.ts"],
        ...["--", process.execPath, "-e", waits],
      ],
      {
        cwd: project.folder,
        env: {
          MAIN: `${project.folder}/node_modules/leasehold/dist/cli/main.js`,
          DATABASE_URL: "",
        },
      },
    );
    expect(end).toMatchObject({ code: 0, stdout: "true\n" });
  });

  it("ends the command where the worker can't begin", async () => {
    const end = await leasehold(
      ["dev", "--handlers", "working.ts", "--schema", "elsewhere", "--", "sleep", "600"],
      { cwd: project.folder, env: { DATABASE_URL: db.url } },
    );
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(/"elsewhere" is missing.*\n.*leasehold migrate/);
  });

  it("refuses a URL that names no PostgreSQL, without showing it", async () => {
    const end = await leasehold(["dev", "--database-url", "mysql://u:secret@x/y", ...command], {
      cwd: project.folder,
    });
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).not.toContain("secret");
  });
});
