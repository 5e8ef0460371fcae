import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { until } from "../drain/support/client.ts";
import { makeProject, type Project, type Running, startLeasehold } from "./binary.ts";
import { working } from "./handlers.ts";

/** A project in which `leasehold dev` runs. One for many tests: its first start takes seconds. */
export interface DevProject extends Project {
  dev(args: string[], env?: Record<string, string>): Running;
  /** Ends what a test that failed has left. */
  endAll(): Promise<void>;
  /** What stands beside the data, and its state: see `closed`. */
  beside(): string[];
  /** The signals that reached the commands, after a line for the start of each. */
  signals(): string[];
  /** Starts the commands that note signals, and answers their process ids. */
  startSignalled(args: string[], ...roles: string[]): Promise<[Running, number[]]>;
}

export function makeDevProject(): DevProject {
  const project = makeProject();
  const { folder } = project;
  symlinkSync(join(process.cwd(), "node_modules/pg"), join(folder, "node_modules/pg"));
  project.write("working.ts", working);
  project.write("app.mjs", app);
  project.write("signalled.mjs", signalled);
  const started: Running[] = [];

  function dev(args: string[], env: Record<string, string> = {}): Running {
    const running = startLeasehold(["dev", ...args], { cwd: folder, env });
    started.push(running);
    return running;
  }

  function signals(): string[] {
    const file = join(folder, "signals");
    return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  }

  return {
    ...project,
    dev,
    async endAll() {
      for (const { child, ended } of started.splice(0)) {
        child.kill("SIGKILL");
        await ended;
      }
    },
    beside: () => [
      ...readdirSync(join(folder, ".leasehold")).sort(),
      // The state in PostgreSQL's own notes; 1 is DB_SHUTDOWNED.
      readFileSync(join(folder, ".leasehold/pgdata/global/pg_control")).readInt32LE(16) === 1
        ? "shut down"
        : "in use",
    ],
    signals,
    async startSignalled(args, ...roles) {
      rmSync(join(folder, "signals"), { force: true });
      const running = dev([...args, "--", process.execPath, "signalled.mjs", ...roles]);
      await until(() => signals().length >= roles.length, "all have started", 30_000);
      return [running, signals().map((line) => Number(line.split(" ").at(-1)))];
    },
  };
}

/** What `beside` answers when all was closed in order. */
export const closed = [".gitignore", "pgdata", "shut down"];

/** Everything behind -- that runs a script of the shell. */
export const inShell = (script: string): string[] => ["--", "sh", "-c", script];

export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

/** An application: enqueues what it is told to, waits for its end, and tells it. */
const app = `
import pg from "pg";
const client = new pg.Client(process.env.DATABASE_URL);
await client.connect();
const { rows: [{ answer }] } = await client.query("select leasehold.enqueue($1) as answer", [process.argv[2]]);
for (;;) {
  const { rows: [{ job }] } = await client.query("select leasehold.status($1) as job", [answer.id]);
  if (job.status === "completed") break;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
console.log(JSON.stringify({ ran: process.argv[2], same: process.env.POSTGRES_URL === process.env.DATABASE_URL }));
await client.end();
process.exit(Number(process.argv[3] ?? 0));
`;

/** Starts a child of its own, and notes the signals that reach each of them; "stubborn" bears SIGTERM. */
const signalled = `
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
const [, , role, ...rest] = process.argv;
const note = (text) => appendFileSync("signals", role + " " + text + "\\n");
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => {
  note(signal);
  if (role === "stubborn") return;
  setTimeout(() => process.exit(role === "parent" ? 9 : 0), 50);
});
if (role === "parent") spawn(process.execPath, ["signalled.mjs", ...rest], { stdio: "inherit" });
note("is " + process.pid);
setInterval(() => undefined, 1000);
`;
