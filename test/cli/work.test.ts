import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { until } from "../drain/support/client.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { leasehold, makeProject, type Project, type Running, startLeasehold } from "./binary.ts";
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
beforeEach(() => db.reset());

const options = () => ({ cwd: project.folder, env: { DATABASE_URL: db.url } });

/** A worker that has said that it works. */
async function startWork(...args: string[]): Promise<Running> {
  const running = startLeasehold(["work", "working.ts", ...args], options());
  await running.says("Working as");
  return running;
}

async function enqueue(...kinds: string[]): Promise<string[]> {
  const answers = await db.database.call("enqueue_many", {
    p_jobs: kinds.map((kind) => ({ kind })),
  });
  return (answers as { id: string }[]).map(({ id }) => id);
}

const completed = (count: number) =>
  until(async () => {
    const done = await db.value("select count(*) from leasehold.jobs where status = 'completed'");
    return done === count;
  }, `${count} jobs completed`);

const running = (count: number) =>
  until(async () => {
    const held = await db.value("select count(*) from leasehold.jobs where status = 'running'");
    return held === count;
  }, `${count} jobs running`);

const state = () =>
  db.query(
    "select kind, status, attempts, releases, last_error_code from leasehold.jobs order by id",
  );

describe("leasehold work", () => {
  it("runs jobs as they come, and takes its leave at SIGTERM with 143", async () => {
    await enqueue("quick", "quick");
    const worker = await startWork("--concurrency", "2", "--name", "mine");
    await completed(2);
    const { workers } = (await db.database.call("workers", {})) as { workers: object[] };
    expect(workers).toMatchObject([
      { name: expect.stringMatching(/^mine-/), concurrency: 2, kinds: expect.any(Array) },
    ]);
    await enqueue("quick");
    await completed(3);
    worker.child.kill("SIGTERM");
    const end = await worker.ended;
    expect(end.code).toBe(143);
    expect(end.stdout).toMatch(/^3 jobs in .*: 3 completed\.\n$/);
    expect(await db.query("select * from leasehold.workers")).toEqual([]);
  });

  it("answers its report as one JSON value, and tells of every job where that is wanted", async () => {
    const [id] = await enqueue("quick", "fails");
    const worker = await startWork("--json", "--verbose");
    await worker.says(`completed quick ${id}, attempt 1`);
    await worker.says("retried fails");
    await worker.says(": ERROR: on purpose");
    worker.child.kill("SIGINT");
    const end = await worker.ended;
    expect(end.code).toBe(130);
    expect(JSON.parse(end.stdout)).toMatchObject({
      reason: "stop",
      processed: 2,
      completed: 1,
      retried: 1,
    });
  });

  it("opens no listening connection where it is told so, and polls", async () => {
    const worker = await startWork("--no-listen", "--poll", "100ms");
    await enqueue("quick");
    await completed(1);
    const { workers } = (await db.database.call("workers", {})) as { workers: object[] };
    expect(workers).toMatchObject([{ listening: false }]);
    worker.child.kill("SIGTERM");
    await worker.ended;
  });

  it("listens where --listen-url says", async () => {
    const other = new URL(db.url);
    other.searchParams.set("application_name", "the-listener");
    const worker = await startWork("--listen-url", other.href, "--poll", "1h");
    const listener = () =>
      db.value("select count(*) from pg_stat_activity where application_name = 'the-listener'");
    await until(async () => (await listener()) === 1, "it listens there");
    worker.child.kill("SIGTERM");
    await worker.ended;
    expect(await listener()).toBe(0);
    const wrong = await leasehold(["work", "working.ts", "--listen-url", "mysql://x"], options());
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--listen-url") });
  });

  it("survives what handlers forget: a promise that rejects, a timer that throws (S31)", async () => {
    await enqueue("forgets", "throws_later", "quick");
    const worker = await startWork();
    await worker.says("a promise that nobody awaits was rejected, and the worker goes on: late");
    await worker.says("an exception that nothing caught, and the worker goes on: later still");
    await completed(3);
    await enqueue("quick");
    await completed(4);
    worker.child.kill("SIGTERM");
    expect((await worker.ended).code).toBe(143);
  });
});

describe("a worker that is told to stop", () => {
  it("releases after the grace what obeys its signal and what ignores it (S29)", async () => {
    await enqueue("obeys", "ignores");
    const worker = await startWork("--grace", "300ms");
    await running(2);
    await enqueue("quick");
    await completed(1);
    worker.child.kill("SIGTERM");
    await worker.says("Stopping; jobs in hand: 2");
    const end = await worker.ended;
    expect(end.code).toBe(143);
    expect(end.stdout).toContain("2 released");
    const released = { status: "queued", attempts: 0, releases: 1, last_error_code: "SHUTDOWN" };
    expect(await state()).toMatchObject([released, released, { status: "completed" }]);
  });

  it("lets a job end within the grace, and claims no other", async () => {
    await enqueue("takes_a_while");
    const worker = await startWork("--concurrency", "1");
    await running(1);
    await enqueue("quick");
    worker.child.kill("SIGTERM");
    expect((await worker.ended).stdout).toContain("1 completed");
    expect(await state()).toMatchObject([
      { status: "completed" },
      { status: "queued", attempts: 0 },
    ]);
  });

  it.each(["SIGTERM", "SIGINT"] as const)("ends at once by a second %s", async (signal) => {
    await enqueue("ignores");
    const worker = await startWork("--grace", "1h");
    await running(1);
    worker.child.kill(signal);
    await worker.says("Stopping");
    const impatience = setInterval(() => worker.child.kill(signal), 50);
    const end = await worker.ended;
    clearInterval(impatience);
    expect(end).toMatchObject({ code: signal === "SIGINT" ? 130 : 143, stdout: "" });
    expect(await state()).toMatchObject([{ status: "running", attempts: 1 }]);
  });
});

describe("--health-port", () => {
  it("answers liveness and readiness", async () => {
    await enqueue("ignores");
    const worker = startLeasehold(
      ["work", "working.ts", "--health-port", "0", "--grace", "2s"],
      options(),
    );
    await worker.says("Health on port");
    await running(1);
    const port = /Health on port (\d+)/.exec(worker.said())?.[1];
    const ask = async (path: string, method = "GET") => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
      return [answer.status, method === "HEAD" ? null : await answer.json()] as const;
    };
    expect(await ask("/livez")).toMatchObject([200, { state: "working", running: 1 }]);
    expect(await ask("/readyz?verbose")).toMatchObject([200, { ready: true }]);
    expect(await ask("/readyz", "HEAD")).toEqual([200, null]);
    expect(await ask("/")).toMatchObject([404, { error: { code: "NOT_FOUND" } }]);
    expect(await ask("/livez", "POST")).toMatchObject([405, { error: {} }]);
    worker.child.kill("SIGTERM");
    await worker.says("Stopping");
    expect(await ask("/livez")).toMatchObject([200, { state: "stopping" }]);
    expect(await ask("/readyz")).toMatchObject([503, { ready: false }]);
    await worker.ended;
  });

  it("that is taken is told before anything is claimed", async () => {
    await enqueue("quick");
    const server = createServer().listen(0);
    await until(() => server.listening, "the port is taken");
    const { port } = server.address() as AddressInfo;
    const end = await leasehold(["work", "working.ts", "--health-port", `${port}`], options());
    server.close();
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(
      new RegExp(`^leasehold: Port ${port}: .*EADDRINUSE.*\nGive another`),
    );
    expect(await state()).toMatchObject([{ status: "queued" }]);
  });
});

describe("a worker that can't begin", () => {
  it("ends with 1 and the next step where the schema is missing", async () => {
    const end = await leasehold(["work", "working.ts", "--schema", "elsewhere"], options());
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(/"elsewhere" is missing.*\n.*leasehold migrate/);
  });

  it.each([
    ["--concurrency", "0"],
    ["--concurrency", "1.5"],
    ["--concurrency", "NaN"],
    ["--grace", "soon"],
    ["--poll", "1ms"],
    ["--health-port", "70000"],
    ["--kinds", "unknown"],
  ])("ends with 2 for %s %s, and names it (S21)", async (option, value) => {
    const end = await leasehold(["work", "working.ts", option, value], options());
    expect(end.code).toBe(2);
    expect(end.stderr).toContain(option.slice(2));
    expect(end.stderr).toContain(value);
  });

  it("ends with 1 where the module is missing (S46)", async () => {
    const end = await leasehold(["work", "missing.ts"], options());
    expect(end).toMatchObject({ code: 1, stderr: expect.stringContaining("missing.ts") });
  });
});
