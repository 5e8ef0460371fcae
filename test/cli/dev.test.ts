import { rmSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../drain/support/client.ts";
import type { Ended } from "./binary.ts";
import { closed, type DevProject, inShell, makeDevProject } from "./dev-project.ts";

let project: DevProject;

beforeAll(() => {
  project = makeDevProject();
});
afterEach(() => project.endAll());
afterAll(() => project.remove());

const run = (args: string[], env?: Record<string, string>): Promise<Ended> =>
  project.dev(args, env).ended;

describe("leasehold dev", () => {
  it("gives the command a database, runs the jobs that it enqueues, and ends as it does", async () => {
    const end = await run([
      ...["--handlers", "working.ts", "--verbose", "--concurrency", "2"],
      ...["--", process.execPath, "app.mjs", "quick", "7"],
    ]);
    expect(end).toMatchObject({ code: 7, stdout: '{"ran":"quick","same":true}\n' });
    expect(end.stderr).toMatch(
      /^DATABASE_URL=postgres:\/\/postgres@127\.0\.0\.1:\d+\/postgres \(embedded, in \.leasehold\/\)\nWorking as .*, 2 at a time\.\ncompleted quick .*\n$/,
    );
    expect(project.beside()).toEqual(closed);
  });

  it.each([
    ["its exit code", inShell("exit 0"), 0],
    ["128 and the number of the signal that ended it", inShell("kill -KILL $$"), 137],
    ["127 where there is no such command", ["--", "no-such-command"], 127],
    ["126 where it can't be run", ["--", "./working.ts"], 126],
  ])("ends with %s", async (_, args, code) => {
    const end = await run(args);
    expect(end.code).toBe(code);
    if (code > 125 && code < 128)
      expect(end.stderr).toMatch(/leasehold: The command "\S+" .*\n.*--/);
    expect(end.stderr).toContain("No --handlers, so no worker of mine");
    expect(project.beside()).toEqual(closed);
  });

  it("hands over all that stands behind -- as it is", async () => {
    const show = "console.log(JSON.stringify(process.argv.slice(1)))";
    const rest = ["--help", "-p", "4000", "--", "a b", "", "$HOME", "--tick=1"];
    const end = await run(["--tick", "1h", "--", process.execPath, "-e", show, "--", ...rest]);
    expect(JSON.parse(end.stdout)).toEqual(rest);
  });

  it("finds the programs of the project", async () => {
    project.write("node_modules/.bin/own-tool", "#!/bin/sh\necho found\n");
    const chmod = await run(inShell("chmod +x node_modules/.bin/own-tool && own-tool"));
    expect(chmod).toMatchObject({ code: 0, stdout: "found\n" });
  });

  it("without a command runs until it is told to stop, and tells its URL to programs", async () => {
    const alone = project.dev(["--json"]);
    await alone.says("No --handlers");
    const said = /DATABASE_URL=(\S+)/.exec(alone.said())?.[1] as string;
    const client = new pg.Client(said);
    client.on("error", () => undefined);
    await client.connect();
    expect((await client.query("select leasehold.stats()")).rowCount).toBe(1);
    const second = await run([]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining("(LH102)") });
    alone.child.kill("SIGTERM");
    const end = await alone.ended;
    expect(end.code).toBe(143);
    expect(JSON.parse(end.stdout)).toEqual({ url: said });
    expect(project.beside()).toEqual(closed);
  });

  it("says what may surprise: production, and a database in a file of the framework", async () => {
    project.write(".env.local", "A=1\nexport DATABASE_URL='postgres://real'\n");
    const { stderr } = await run(inShell("true"), { NODE_ENV: "production" });
    rmSync(join(project.folder, ".env.local"));
    expect(stderr).toContain("NODE_ENV is production");
    expect(stderr).toContain(".env.local sets DATABASE_URL as well");
  });

  it.each([
    [["--tick", "soon"], "--tick"],
    [["--tick-url", "localhost:3000"], "--tick-url"],
    [["--port", "70000"], "--port"],
    [["--handler", "x"], "Did you mean --handlers?"],
    [["--port", "5", "--database-url", "postgres://x"], "--port"],
  ])("refuses %j before anything is opened", async (args, says) => {
    const end = await run([...args, ...inShell("echo ran")]);
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toContain(says);
  });

  it("starts no command where the handlers can't be loaded or the port is taken", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await until(() => server.listening, "the port is taken");
    const { port } = server.address() as AddressInfo;
    const taken = await run(["--port", `${port}`, ...inShell("echo ran")]);
    server.close();
    expect(taken).toMatchObject({ code: 1, stdout: "" });
    expect(taken.stderr).toMatch(new RegExp(`^leasehold: Port ${port}: .*\nGive another --port`));
    const missing = await run(["--handlers", "missing.ts", ...inShell("echo ran")]);
    expect(missing).toMatchObject({ code: 1, stdout: "" });
    expect(project.beside()).toEqual(closed);
  });
});

describe("the tick", () => {
  it("asks the application as a cron does, and tells failures once until they change", async () => {
    const requests: IncomingMessage[] = [];
    let status = 503;
    let open = 0;
    let most = 0;
    const server = createServer((request, response) => {
      requests.push(request);
      most = Math.max(most, ++open);
      setTimeout(() => {
        open -= 1;
        response.writeHead(status).end();
      }, 250);
    }).listen(0, "127.0.0.1");
    await until(() => server.listening, "it listens");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/cron?x=1`;
    const running = project.dev([
      "--tick",
      "100ms",
      "--tick-url",
      url,
      ...inShell("echo $CRON_SECRET; sleep 600"),
    ]);
    await until(() => requests.length >= 3, "three ticks", 30_000);
    status = 200;
    await running.says(`GET ${url} succeeds now`);
    running.child.kill("SIGTERM");
    const { stdout, stderr } = await running.ended;
    server.close();
    expect(requests[0]).toMatchObject({ method: "GET", url: "/api/cron?x=1" });
    expect(stdout.trim().length).toBeGreaterThan(20);
    expect(requests[0]?.headers.authorization).toBe(`Bearer ${stdout.trim()}`);
    expect(stderr.match(/failed, and is tried again: it answered 503/g)).toHaveLength(1);
    expect(most).toBe(1);
  });

  it("reaps and prunes, and sends the secret that is configured", async () => {
    const seed = `node -e '
      const pg = require("pg"); (async () => {
      const c = new pg.Client(process.env.DATABASE_URL); await c.connect();
      await c.query("select leasehold.define_kind($1, $2)", ["old", { retain_ms: 1 }]);
      const id = (await c.query("select leasehold.enqueue($1, $2, $3) as a", ["old", {}, { key: "k", max_attempts: 1 }])).rows[0].a.id;
      await c.query("select leasehold.claim_job($1, 1000)", [id]);
      await c.query("update leasehold.jobs set lease_until = clock_timestamp() where id = $1", [id]);
      for (;;) {
        const { rows } = await c.query("select 1 from leasehold.jobs where id = $1", [id]);
        if (rows.length === 0) break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      console.log("pruned", process.env.CRON_SECRET); process.exit(); })()'`;
    const end = await run(["--tick", "100ms", ...inShell(seed)], { CRON_SECRET: "given" });
    expect(end).toMatchObject({ code: 0, stdout: "pruned given\n" });
  });
});
