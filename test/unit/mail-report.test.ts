import { describe, expect, test } from "vitest";
import { checkJobs, checkProvider, checkStorage } from "../../examples/mail/expectations.ts";
import type { LogEntry } from "../../examples/mail/provider/play.ts";
import { formatTable } from "../../examples/mail/report/table.ts";
import { displayWidth, oneLine } from "../../examples/mail/report/text.ts";
import { createReport } from "../../examples/mail/report.ts";
import { type PlannedMessage, planMessages } from "../../examples/mail/scenarios.ts";

describe("the width of a text", () => {
  test.each([
    ["fax.pdf", 7],
    ["受信", 4],
    ["ファックス", 10],
    ["ﾌｧｯｸｽ", 5],
    ["（全角）", 8],
    ["é", 1],
    ["e\u0301", 1],
    ["が", 2],
    ["か\u3099", 2],
    ["𠮷野家", 6],
    ["📠", 2],
    ["…", 1],
  ])("of %j is %i columns", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

test("a table stands in columns whatever the script, numbers to the right", () => {
  const columns = [
    { title: "name", value: (row: Row) => row.name },
    { title: "count", value: (row: Row) => row.count },
    { title: "why", value: (row: Row) => row.why },
  ];
  const rows: Row[] = [
    { name: "受信.pdf", count: 3, why: "" },
    { name: "fax", count: 12, why: "two\nlines" },
  ];
  expect(formatTable(columns, rows)).toEqual([
    "name      count  why",
    "--------  -----  ---------",
    "受信.pdf      3",
    "fax          12  two lines",
  ]);
});

interface Row {
  readonly name: string;
  readonly count: number;
  readonly why: string;
}

test("a text from outside can't steer the terminal", () => {
  expect(oneLine("fax\u001b[2J\r\n\u202epdf")).toBe("fax [2J pdf");
});

describe("colours", () => {
  test.each([
    ["in a terminal", true, {}, true],
    ["not in a file", false, {}, false],
    ["not with NO_COLOR", true, { NO_COLOR: "1" }, false],
    ["not in a dumb terminal", true, { TERM: "dumb" }, false],
  ])("%s", (_, isTTY, env, coloured) => {
    const written: string[] = [];
    const report = createReport({ isTTY, write: (text) => written.push(text) }, env);
    report.heading("Messages");
    report.progress("worker-1", "mail-0001", "stored");
    report.table([]);
    report.checks([{ held: true, expectation: "all is well", found: "" }]);
    expect(written.join("").includes("\u001b[")).toBe(coloured);
  });
});

test("the report says which expectation failed, and what was found", () => {
  const written: string[] = [];
  const report = createReport({ write: (text) => written.push(text) }, {});
  const held = report.checks([
    { held: true, expectation: "one", found: "" },
    { held: false, expectation: "two", found: "a\nb" },
  ]);
  expect(held).toBe(false);
  expect(written.join("")).toBe("  ok   one\n FAIL  two\n         a\n         b\n");
});

describe("the checks", () => {
  const plan = planMessages(8);
  const jobs = plan.map(({ id, scenario: { expected } }) => ({
    messageId: id,
    status: expected.status as string,
    attempts: expected.attempts,
    generation: expected.answers.length,
  }));
  const log = plan.flatMap(entriesOf);
  const failed = (checks: { held: boolean; found: string }[]): string[] =>
    checks.filter(({ held }) => !held).map(({ found }) => found);

  test("hold when everything went as planned", () => {
    expect(failed([...checkJobs(plan, jobs), ...checkProvider(plan, jobs, log)])).toEqual([]);
  });

  test("find a job that ended otherwise, and one that is missing", () => {
    const others = jobs.slice(1).map((job, i) => (i === 0 ? { ...job, attempts: 2 } : job));
    expect(failed(checkJobs(plan, others))).toEqual([
      "mail-0001 has no job\nmail-0002 is completed after 2 attempts, expected completed after 1 attempt",
      "7 jobs for 8 messages",
    ]);
  });

  test("find a claim without a request, and a wait that was too short", () => {
    const [first] = log;
    const early = { ...first, note: "came back after 300 ms: too early", status: 429 } as LogEntry;
    expect(failed(checkProvider(plan, jobs, [early, ...log.slice(2)]))).toEqual([
      "mail-0001: the provider answered 429, planned 200\nmail-0002: the provider answered nothing, planned 200",
      "mail-0002: 0 requests in 1 claims",
      "mail-0001 came back after 300 ms: too early",
    ]);
  });

  test("count a repeated refusal of the key as one", () => {
    const { id } = plan.find(({ scenario }) => scenario.expected.answers[0] === 401) ?? { id: "" };
    const refused = log.find((entry) => entry.messageId === id) as LogEntry;
    const again = jobs.map((job) => (job.messageId === id ? { ...job, generation: 3 } : job));
    expect(failed(checkProvider(plan, again, [refused, ...log]))).toEqual([]);
  });

  test("name every file that is not as it should be", () => {
    const verdict = { ok: false, intact: 1, missing: ["a"], altered: ["b"], surplus: ["c"] };
    expect(checkStorage(verdict).found).toBe("missing: a\naltered: b\nsurplus: c");
  });
});

function entriesOf({ id, scenario }: PlannedMessage): LogEntry[] {
  return scenario.expected.answers.map((status, i) => ({
    atMs: i,
    messageId: id,
    request: i + 1,
    worker: "worker-1",
    status,
    note: status === 200 && i > 0 ? "sent: came back after 1010 ms" : "",
  }));
}
