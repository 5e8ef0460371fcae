import { rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../drain/support/client.ts";
import type { Ended } from "./binary.ts";
import { closed, type DevProject, inShell, isAlive, makeDevProject } from "./dev-project.ts";

let project: DevProject;

beforeAll(() => {
  project = makeDevProject();
});
afterEach(() => project.endAll());
afterAll(() => project.remove());

const run = (args: string[]): Promise<Ended> => project.dev(args).ended;

describe("an end of leasehold dev", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "by %s reaches the command and its children once, and releases the jobs in hand",
    async (signal) => {
      const [running, pids] = await project.startSignalled(
        ["--handlers", "working.ts"],
        "parent",
        "child",
      );
      const url = /DATABASE_URL=(\S+)/.exec(running.said())?.[1];
      const client = new pg.Client(url);
      client.on("error", () => undefined);
      await client.connect();
      await client.query("select leasehold.enqueue('obeys')");
      const isRunning = "select count(*)::int as n from leasehold.jobs where status = 'running'";
      await until(async () => (await client.query(isRunning)).rows[0].n > 0, "it runs");
      running.child.kill(signal);
      await running.says("Stopping");
      const end = await running.ended;
      expect(end.code).toBe(9);
      expect(end.stderr).toContain("released obeys");
      expect(project.signals().slice(2).sort()).toEqual([`child ${signal}`, `parent ${signal}`]);
      expect(pids.map(isAlive)).toEqual([false, false]);
      expect(project.beside()).toEqual(closed);
    },
  );

  it("takes what the command left behind along, and kills what does not obey", async () => {
    const [running, pids] = await project.startSignalled(["--grace", "400ms"], "stubborn");
    running.child.kill("SIGTERM");
    expect((await running.ended).code).toBe(137);
    expect(project.signals().slice(1)).toEqual(["stubborn SIGTERM"]);
    expect(pids.map(isAlive)).toEqual([false]);

    const left = await run(inShell("sleep 600 >/dev/null 2>&1 & echo $!; exit 3"));
    expect(left.code).toBe(3);
    expect(isAlive(Number(left.stdout))).toBe(false);
  });

  it("comes at once by a second signal", async () => {
    const [running, pids] = await project.startSignalled(["--grace", "1h"], "stubborn");
    running.child.kill("SIGINT");
    await running.says("Stopping; Ctrl-C again ends at once");
    const impatience = setInterval(() => running.child.kill("SIGINT"), 50);
    expect((await running.ended).code).toBe(130);
    clearInterval(impatience);
    await until(() => !pids.some(isAlive), "nothing is left");
    expect(project.signals().slice(1)).toEqual(["stubborn SIGINT"]); // killed, not asked again
  });

  it("by SIGKILL takes the command along, and leaves all data to the next start", async () => {
    const [running, pids] = await project.startSignalled([], "parent", "child");
    const client = new pg.Client(/DATABASE_URL=(\S+)/.exec(running.said())?.[1]);
    client.on("error", () => undefined);
    await client.connect();
    await client.query("create table kept (n int); insert into kept values (42)");
    running.child.kill("SIGKILL");
    expect((await running.ended).code).toBe(null);
    await until(() => !pids.some(isAlive), "the command is ended");
    expect(project.beside()).toContain("pgdata.lock");

    project.write(
      "read.mjs",
      `import pg from "pg"; const c = new pg.Client(process.env.DATABASE_URL); await c.connect();
      console.log((await c.query("select n from kept")).rows[0].n); process.exit();`,
    );
    const next = await run(["--", process.execPath, "read.mjs"]);
    expect(next).toMatchObject({ code: 0, stdout: "42\n" });
    expect(project.beside()).toEqual(closed);
  });
});

describe("a database that is gone", () => {
  it("ends the command as well, and says so", async () => {
    const running = project.dev(inShell("echo begun >&2; sleep 600"));
    await running.says("begun");
    rmSync(join(project.folder, ".leasehold"), { recursive: true });
    const end = await running.ended;
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(
      /leasehold: The embedded database is gone: the folder \S+ was deleted or replaced\.\n/,
    );
  });
});
