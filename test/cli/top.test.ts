import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { builtPackage, leasehold, startLeasehold } from "./binary.ts";

let db: TestDatabase;

beforeAll(async () => {
  db = await openTestDatabase("postgres");
});
afterAll(() => db.close());
beforeEach(() => db.reset());

const env = () => ({ DATABASE_URL: db.url });

async function enqueue(kind: string, key: string): Promise<string> {
  const answer = await db.database.call("enqueue", { p_kind: kind, p_options: { key } });
  return (answer as { id: string }).id;
}

const claim = (p_id: string) => db.database.call("claim_job", { p_id, p_worker: "host:7" });

describe("top without a terminal", () => {
  it("prints one state, with the oldest claim first, and ends", async () => {
    const [a, b] = [await enqueue("fetch", "first"), await enqueue("fetch", "second")];
    // The list is by id, newest first, which is neither.
    const c = await enqueue("fetch", "last");
    for (const id of [b, c, a]) await claim(id);
    await enqueue("mail", "third");
    const { code, stdout, stderr } = await leasehold(["top"], { env: env() });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}2 kinds, 0 workers, 3 running$/);
    expect(lines.slice(3, 5)).toEqual([
      expect.stringMatching(/^fetch +0 +0 .* 3 /),
      expect.stringMatching(/^mail +1 +1 /),
    ]);
    expect(lines.slice(-3)).toEqual([
      expect.stringMatching(new RegExp(`^fetch +1/5 .*host:7 +second +${b}$`)),
      expect.stringMatching(new RegExp(`^fetch +1/5 .*host:7 +last +${c}$`)),
      expect.stringMatching(new RegExp(`^fetch +1/5 .*host:7 +first +${a}$`)),
    ]);
  });

  it("prints the answers of the SQL functions as a line of JSON", async () => {
    const id = await enqueue("fetch", "a");
    await claim(id);
    const { stdout } = await leasehold(["top", "--json", "--once"], { env: env() });
    expect(stdout.split("\n")).toHaveLength(2);
    const { stats, workers, running } = JSON.parse(stdout);
    const list = await db.database.call("list", { p_filter: { status: "running" } });
    expect(running).toEqual(list);
    expect(stats.kinds).toMatchObject([{ kind: "fetch", running: 1 }]);
    expect(workers.workers).toEqual([]);
  });

  it("goes on printing JSON until it is told to stop, or nobody reads any more", async () => {
    const { child, ended } = startLeasehold(["top", "--json", "--interval", "250ms"], {
      env: env(),
    });
    await untilLines(child, 3);
    child.kill("SIGTERM");
    const { code, stdout } = await ended;
    expect(code).toBe(143);
    for (const line of stdout.trimEnd().split("\n")) {
      expect(Object.keys(JSON.parse(line))).toEqual(["stats", "workers", "running"]);
    }
    const other = startLeasehold(["top", "--json", "--interval", "250ms"], { env: env() });
    await untilLines(other.child, 1);
    other.child.stdout?.destroy();
    expect((await other.ended).code).toBe(0);
  });

  it("ends with 1 when the first look fails, and with 2 for an interval out of bounds", async () => {
    const away = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };
    const end = await leasehold(["top"], { env: away });
    expect(end).toMatchObject({ code: 1, stdout: "" });
    for (const interval of ["249ms", "61m", "2"]) {
      const refused = await leasehold(["top", "--interval", interval], { env: env() });
      expect(refused).toMatchObject({ code: 2, stdout: "" });
      expect(refused.stderr).toContain("from 250ms to 1h");
    }
  });
});

// `script` of util-linux lends a terminal; that of other systems takes other arguments.
const util = spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "";

describe.runIf(util.includes("util-linux"))("top on a terminal", () => {
  const leaves = "\u001b[?7h\u001b[?25h\u001b[?1049l";

  /** `leasehold top` on a terminal of this size, and what it has written there. */
  function onTerminal(columns: number, rows: number) {
    const main = join(builtPackage(), "dist/cli/main.js");
    const command = `stty cols ${columns} rows ${rows}; echo "pid $$"; exec "${process.execPath}" "${main}" top --interval 250ms`;
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      env: { ...env(), PATH: process.env.PATH, SHELL: "/bin/sh" },
    });
    let written = "";
    child.stdout.on("data", (chunk) => {
      written += chunk;
      child.emit("written");
    });
    const ended = once(child, "close").then(([code]) => ({ code, written }));
    const shows = async (text: string | RegExp) => {
      const there = () => (typeof text === "string" ? written.includes(text) : text.test(written));
      let over = false;
      void ended.then(() => {
        over = true;
      });
      while (!there()) {
        if (over) throw new Error(`It never showed ${text}: ${JSON.stringify(written)}`);
        await Promise.race([once(child, "written"), ended]);
      }
    };
    const pid = async () => {
      await shows(/pid \d+/);
      return Number(/pid (\d+)/.exec(written)?.[1]);
    };
    return { child, shows, ended, pid };
  }

  it("shows what changes, wraps no line, and gives the terminal back at q", async () => {
    await enqueue("fetch", "a key of some length that does not fit into forty columns");
    const { child, shows, ended } = onTerminal(40, 12);
    await shows("1 kind, 0 workers…");
    await claim(await enqueue("later", "b"));
    await shows("later");
    child.stdin.write("q");
    const { code, written } = await ended;
    expect(code).toBe(0);
    expect(written).toContain("\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[H");
    expect(written.trimEnd().endsWith(leaves)).toBe(true);
    const drawn = written.slice(written.indexOf("\u001b[H"), written.lastIndexOf("\u001b[?7h"));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences that a terminal reads.
    const lines = drawn.replaceAll(/\u001b\[[?\d]*[a-zA-Z]/g, "\n").split(/[\r\n]+/);
    for (const line of lines) expect([...line].length, line).toBeLessThanOrEqual(40);
  });

  it.each([
    ["Ctrl-C", 130],
    ["SIGTERM", 143],
  ] as const)("gives the terminal back at %s, and ends with %i", async (how, code) => {
    const { child, shows, ended, pid } = onTerminal(80, 24);
    const own = await pid();
    await shows("Nothing is running.");
    if (how === "Ctrl-C") child.stdin.write("\u0003");
    else process.kill(own, "SIGTERM");
    const end = await ended;
    expect(end.code).toBe(code);
    expect(end.written.trimEnd().endsWith(leaves)).toBe(true);
  });

  it("says so while the database is away, and recovers", async () => {
    const { child, shows, ended } = onTerminal(80, 24);
    await shows("Nothing is running.");
    await db.query("alter function leasehold.stats() rename to _stats");
    await shows('Not up to date: The schema "leasehold" is missing');
    await db.query("alter function leasehold._stats() rename to stats");
    await claim(await enqueue("recovered", "c"));
    await shows("recovered");
    child.stdin.write("q");
    expect((await ended).code).toBe(0);
  });
});

/** Resolves once so many lines have come out. */
async function untilLines(child: ChildProcess, count: number): Promise<void> {
  let lines = 0;
  while (lines < count && child.stdout) {
    const [chunk] = await once(child.stdout, "data");
    lines += String(chunk).split("\n").length - 1;
  }
}
