import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { describeFailure } from "../../src/cli/failure.ts";
import { runProgram } from "../../src/cli/program.ts";
import { leasehold } from "./binary.ts";

/** A server that nobody listens at: whatever opens the database would fail by it. */
const nowhere = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };

beforeEach(() => void vi.stubEnv("DATABASE_URL", nowhere.DATABASE_URL));
afterEach(() => void vi.unstubAllEnvs());

/** What the program says of a wrong command line: within this process, for there are many. */
async function refusalOf(...args: string[]): Promise<string> {
  const failure = await runProgram(args).then(() => undefined, describeFailure);
  expect(failure?.exitCode).toBe(2);
  expect(failure?.text.split("\n")).toHaveLength(2);
  return failure?.text ?? "";
}

describe("leasehold", () => {
  it("prints its version, and its commands on request", async () => {
    const version = await leasehold(["--version"]);
    expect(version).toMatchObject({ code: 0, stderr: "" });
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);

    const help = await leasehold(["--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    for (const name of "migrate enqueue status jobs retry cancel run-now remove stats kinds pause resume workers top prune drain work dev init".split(
      " ",
    )) {
      expect(help.stdout).toMatch(new RegExp(`^ *${name}  `, "m"));
    }
  });

  it("explains a command, whatever else stands on the line, without colours in a pipe", async () => {
    const help = await leasehold(["jobs", "--help", "--nonsense"], { env: nowhere });
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("--limit=<n>");
    expect(help.stdout).not.toContain("\u001b");
  });

  it("shows its commands on stderr when it is given none", async () => {
    const end = await leasehold([]);
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toContain("USAGE leasehold migrate|enqueue");
  });

  it("refuses an unknown command, and an option before the command", async () => {
    expect(await refusalOf("job")).toContain('no command "job".\nCommands: migrate,');
    expect(await refusalOf("toString")).toContain("no command");
    expect(await refusalOf("--json", "jobs")).toContain("--json stands before the command");
  });

  it("refuses an unknown option by its name, with the nearest one, before anything is opened", async () => {
    expect(await refusalOf("jobs", "--limti", "3")).toMatch(
      /^leasehold: jobs has no option "--limti"\.\nDid you mean --limit\? Accepted: --status,/,
    );
    expect(await refusalOf("enqueue", "k", "{}", "--maxAttempts=3")).toContain(
      "Did you mean --max-attempts?",
    );
    expect(await refusalOf("stats", "-x")).toContain('no option "-x"');
    expect(await refusalOf("stats", "--no-json")).toContain('no option "--no-json"');
  });

  it("refuses every bad value by the name of its option", async () => {
    for (const value of ["0", "-1", "1.5", "abc", "NaN", "Infinity", "1e3", "10001", ""]) {
      const shown = /^-?\d+$/.test(value) ? value : JSON.stringify(value);
      expect(await refusalOf("jobs", `--limit=${value}`)).toBe(
        `leasehold: --limit is ${shown}.\nGive a whole number from 1 to 10000.`,
      );
    }
  });
});

/** A line of arguments and what is said about it. */
const mistakes: readonly (readonly [args: string[], said: string])[] = [
  [["jobs", "--limit", "-5"], "--limit is -5."],
  [["jobs", "--limit"], "--limit has no value."],
  [["jobs", "--key", "--json"], "--key has no value."],
  [["jobs", "--limit", "1", "--limit", "2"], "--limit is given twice."],
  [["jobs", "--json=yes"], "--json takes no value."],
  [["jobs", "--status", "done"], '--status is "done".\nGive one of queued, running,'],
  [["jobs", "--after", "123"], '--after is "123".\nGive the whole id of a job, a uuid.'],
  [["jobs", "--owner", " "], '--owner is " ".\nGive text that is not blank.'],
  [["jobs", "surplus"], 'jobs takes no further argument "surplus".'],
  [["jobs", "--schema", "public"], 'schema is "public".\nGive a schema of leasehold\'s own'],
  [["jobs", "--database-url", "mysql://u:secret@h/d"], "--database-url names no PostgreSQL."],
  [["status"], "status needs ID."],
  [["status", "01a2"], 'ID is "01a2".'],
  [["retry"], "retry needs ID…."],
  [["cancel", "7"], 'ID is "7".'],
  [["prune", "--older-than", "30"], '--older-than is "30".\nGive a duration with its unit,'],
  [["prune", "--older-than", "11y"], '--older-than is "11y".'],
  [["prune", "--status", "queued"], "Give one of completed, failed, cancelled."],
  [["migrate", "--role", ""], '--role is "".'],
  [["migrate", "--print", "--json"], "--print prints SQL."],
  [["enqueue", "k"], "enqueue needs PAYLOAD."],
  [["enqueue", "", "{}"], 'kind is "".'],
  [["enqueue", "leasehold.x", "{}"], 'kind is "leasehold.x".'],
  [["enqueue", "k", "{}", "--priority", "40000"], "--priority is 40000."],
  [["enqueue", "k", "{}", "--max-attempts", "0"], "--max-attempts is 0."],
  [["enqueue", "k", "{}", "--delay", "-5s"], '--delay is "-5s".'],
  [["enqueue", "k", "{}", "--delay", "Infinity"], '--delay is "Infinity".'],
  [["enqueue", "k", "{}", "--start-within", "0s"], '--start-within is "0s".'],
  [["enqueue", "k", "{}", "--run-after", "tomorrow"], '--run-after is "tomorrow".'],
  [
    ["enqueue", "k", "{}", "--delay", "5s", "--run-after", "2030-01-31T12:00:00Z"],
    "--delay and --run-after contradict each other.",
  ],
  [["enqueue", "k", "{}", "--once-for", "1d"], "--once-for means nothing without --once."],
  [
    ["enqueue", "k", "{}", "--on-conflict", "replace"],
    "--on-conflict means nothing without --key.",
  ],
  [["enqueue", "k", "{}", "--on-conflict", "wait", "--key", "a"], "Give one of conflict, replace"],
  [["enqueue", "k", '{"a": }'], 'PAYLOAD is no JSON: line 1, column 7 has "}" where a value'],
  [["enqueue", "k", "@nowhere.json"], 'PAYLOAD can\'t be read from "nowhere.json"'],
  [["enqueue", "k", '{"a": 9007199254740993}'], "PAYLOAD holds the number 9007199254740993"],
  [["enqueue", "k", '"\\u0000"'], "payload is text with a NUL character."],
  [["drain"], "drain needs FILE."],
  [["drain", "h.ts", "--budget", "0s"], '--budget is "0s".'],
  [["drain", "h.ts", "--budget", "25d"], '--budget is "25d".'],
  [["drain", "h.ts", "--budget", "240"], '--budget is "240".'],
  [["drain", "h.ts", "--max-jobs", "1.5"], '--max-jobs is "1.5".'],
  [["drain", "h.ts", "--kinds", "a,,b"], '--kinds is "".'],
  [["drain", "h.ts", "--budget", "5s", "--reserve", "5s"], "--reserve is not less than --budget."],
];

describe("a mistake on the command line", () => {
  it.each(mistakes)("ends with 2 and one or two lines: %j", async (args, said) => {
    const text = await refusalOf(...args);
    expect(text).toContain(said);
    expect(text).not.toContain("secret");
  });

  it("shows its stack only on request", async () => {
    expect((await leasehold(["status", "x", "--debug"])).stderr).toContain("    at ");
    const env = { LEASEHOLD_DEBUG: "1" };
    expect((await leasehold(["status", "x"], { env })).stderr).toContain("    at ");
  });
});

describe("a database that can't be used", () => {
  it("ends with 1 and says what to check", async () => {
    const end = await leasehold(["stats"], { env: nowhere });
    expect(end).toMatchObject({ code: 1, stdout: "" });
    expect(end.stderr).toMatch(/^leasehold: .*ECONNREFUSED.*\nCheck that the database server runs/);
    expect(end.stderr).not.toContain("    at ");
  });

  it("is named where production has none", async () => {
    const end = await leasehold(["stats"], { env: { NODE_ENV: "production" } });
    expect(end.code).toBe(1);
    expect(end.stderr).toMatch(/\(LH101\)\.\nSet DATABASE_URL/);
  });

  it("never shows the password of a URL that is none", async () => {
    const env = { DATABASE_URL: "postgres://u:secret@[bad/d" };
    const end = await leasehold(["stats", "--debug"], { env });
    expect(end.code).toBe(1);
    expect(end.stderr).not.toContain("secret");
  });
});
