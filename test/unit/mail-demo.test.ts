import { describe, expect, test } from "vitest";
import {
  checkInbox,
  checkKilled,
  checkRecords,
  checkSlow,
  checkStale,
  checkSteps,
} from "../../examples/mail/demo/checks.ts";
import { Cleanup } from "../../examples/mail/demo/cleanup.ts";
import type { Received } from "../../examples/mail/demo/inbox.ts";
import { type Entry, Journal } from "../../examples/mail/demo/journal.ts";
import { createNarrator } from "../../examples/mail/demo/narrator.ts";
import { readOptions } from "../../examples/mail/demo/options.ts";
import { reportRows } from "../../examples/mail/demo/rows.ts";
import type { Check } from "../../examples/mail/expectations.ts";
import { createReport } from "../../examples/mail/report.ts";
import { planMessages } from "../../examples/mail/scenarios.ts";

describe("the options", () => {
  test("have defaults", () => {
    expect(readOptions([])).toEqual({ messages: 13, leaseMs: 3_000, keep: false });
  });

  test.each([
    [["--messages", "40"], { messages: 40 }],
    [["--lease", "2s"], { leaseMs: 2_000 }],
    [["--lease", "2500ms"], { leaseMs: 2_500 }],
    [["--keep"], { keep: true }],
  ])("%j", (args, expected) => {
    expect(readOptions(args)).toMatchObject(expected);
  });

  test.each([
    [["--messages", "12"], /--messages is 12/],
    [["--messages", "many"], /--messages is many/],
    [["--lease", "3"], /--lease is 3/],
    [["--lease", "500ms"], /--lease is 500ms/],
    [["--leese", "3s"], /leese/],
  ])("%j is refused", (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});

describe("the journal", () => {
  test("finds what has happened already", async () => {
    const journal = journalOf([started("worker-1", "mail-0001", 1)]);
    const found = await journal.first("started", ({ generation }) => generation === 1);
    expect(found.worker).toBe("worker-1");
  });

  test("waits for what has not, and passes over what does not fit", async () => {
    const journal = new Journal();
    const found = journal.first("started", ({ generation }) => generation === 2);
    journal.write(started("worker-1", "mail-0001", 1));
    journal.write(ended("worker-1", "mail-0001", 2, "lost"));
    journal.write(started("worker-2", "mail-0001", 2));
    expect((await found).worker).toBe("worker-2");
  });
});

test("cleaning up takes every step, the last one first, and tells what failed", async () => {
  const cleanup = new Cleanup();
  const taken: string[] = [];
  cleanup.add(() => taken.push("first"));
  cleanup.add(() => Promise.reject(new Error("stuck")));
  cleanup.add(() => taken.push("last"));
  expect(await cleanup.run()).toEqual([new Error("stuck")]);
  expect(taken).toEqual(["last", "first"]);
  expect(await cleanup.run()).toEqual([]);
});

test("the table says what became of each claim", () => {
  const plan = planMessages(4);
  const journal = journalOf([
    started("worker-1", "mail-0001", 1),
    ended("worker-1", "mail-0001", 1, "completed"),
    started("worker-2", "mail-0002", 1),
    ended("worker-2", "mail-0002", 1, "retried", "HTTP_503"),
    started("worker-1", "mail-0003", 1),
    started("worker-3", "mail-0003", 2),
    ended("worker-3", "mail-0003", 2, "completed"),
    ended("worker-1", "mail-0003", 1, "lost"),
    stale("worker-1", "mail-0003", 1, true),
    started("worker-2", "mail-0004", 1),
    started("worker-1", "mail-0004", 2),
  ]);
  const jobs = [{ messageId: "mail-0001", status: "completed", attempts: 1, generation: 1 }];
  const rows = reportRows(plan, jobs, journal);
  expect(rows[0]).toMatchObject({ message: "mail-0001", outcome: "completed", attempts: 1 });
  expect(rows.map(({ why }) => why)).toEqual([
    "",
    "worker-2: HTTP_503, to be tried again",
    "worker-1: lost its lease, its complete was refused · worker-3: done",
    "worker-2: killed, its lease ran out · worker-1: under way",
  ]);
  expect(rows[1]?.outcome).toBe("no job");
});

test("the narrator tells all of the script, and of the load what did not go straight", () => {
  const written: string[] = [];
  const report = createReport({ write: (text) => written.push(text) }, {});
  const { entry } = createNarrator(report, planMessages(20));
  entry(started("worker-1", "mail-0001", 1));
  entry(ended("worker-1", "mail-0001", 1, "completed"));
  entry(started("worker-1", "mail-0020", 1));
  entry(ended("worker-1", "mail-0020", 1, "completed"));
  entry(ended("worker-1", "mail-0016", 1, "retried", "HTTP_503"));
  entry({ type: "drained", worker: "worker-1", jobs: 0, reason: "empty" });
  const lines = written.map((line) => line.replace(/^ *[\d.]+ s {2}/, "").trim());
  expect(lines).toEqual([
    "worker-1   mail-0001  claimed: attempt 1, generation 1",
    "worker-1   mail-0001  completed in 4 s",
    "worker-1   mail-0016  HTTP_503: to be tried again",
  ]);
});

describe("the checks of the stagings", () => {
  const killed = { worker: "worker-2", messageId: "mail-0004" };
  const stopped = { worker: "worker-1", messageId: "mail-0003" };
  const exits = new Map([
    ["worker-1", { code: 0, signal: null }],
    ["worker-2", { code: null, signal: "SIGKILL" as const }],
  ]);
  const journal = journalOf([
    ended("worker-3", "mail-0004", 2, "completed"),
    ended("worker-1", "mail-0003", 1, "lost"),
    stale("worker-1", "mail-0003", 1, true),
  ]);

  test("hold when everything went as planned", () => {
    const checks = [
      ...checkKilled(killed, exits, journal),
      ...checkStale(stopped, journal, ["complete"]),
    ];
    expect(failed(checks)).toEqual([]);
  });

  test("find a worker that ended otherwise, and a message that nobody took over", () => {
    const others = new Map([...exits, ["worker-3", { code: 1, signal: null }]] as const);
    expect(failed(checkKilled(killed, others, new Journal()))).toEqual([
      "worker-2 ended by SIGKILL, mail-0004 completed by nobody",
      "worker-3: exit code 1",
    ]);
  });

  test("find a late write that was accepted, and a lease lost besides", () => {
    const entries = [stale("worker-1", "mail-0003", 1, false), ended("w", "m", 1, "lost")];
    expect(failed(checkStale(stopped, journalOf(entries), ["complete"]))).toEqual([
      "mail-0003: the complete of worker-1 was not refused",
      "w lost m",
    ]);
  });

  test("find an attachment that was stored twice, and a message that nobody went on with", () => {
    const first = [
      attachment("stored", "worker-1", "mail-0003", 1, 0),
      attachment("stored", "worker-2", "mail-0004", 1, 0),
    ];
    const on = [
      attachment("kept", "worker-3", "mail-0003", 2, 0),
      attachment("stored", "worker-3", "mail-0003", 2, 1),
      attachment("kept", "worker-3", "mail-0004", 2, 0),
    ];
    expect(checkSteps([stopped, killed], journalOf([...first, ...on]))).toEqual({
      held: true,
      expectation: "no attachment was stored twice by attempts that followed an interruption",
      found:
        "mail-0003: worker-3 went on behind attachment 1\nmail-0004: worker-3 went on behind attachment 1",
    });
    const again = attachment("stored", "worker-3", "mail-0004", 2, 0);
    expect(
      checkSteps([stopped, killed], journalOf([...first, ...on.slice(0, 2), again])),
    ).toMatchObject({
      held: false,
      found:
        "mail-0004, attachment 1: stored 2 times\nmail-0004: nothing was stored before it was taken over",
    });
  });

  test("find a slow message that was too fast to show anything", () => {
    const plan = planMessages(13);
    const slow = journalOf([ended("worker-1", "mail-0009", 1, "completed")]);
    expect(checkSlow(plan, slow, 3_000).held).toBe(true);
    expect(checkSlow(plan, slow, 5_000).held).toBe(false);
    expect(checkSlow(plan, new Journal(), 3_000).held).toBe(false);
  });
});

describe("the checks of the tables", () => {
  const plan = planMessages(13);
  const ids = plan.map(({ id }) => id);

  test("find an announcement that was taken for new, and a message that is not stored", () => {
    const again = [received("mail-0010", "duplicate")];
    expect(failed(checkInbox(plan, again, ids))).toEqual([]);
    expect(failed(checkInbox(plan, [], ids.slice(1)))).toEqual([
      "none; expected mail-0010: duplicate",
      "12 rows for 13 messages",
    ]);
  });

  test("find a row too many, a wrong one and a missing one", () => {
    const attachments = [0, 1].map((index) => ({
      ...{ index, filename: "fax.pdf", contentType: "application/pdf", bytes: 9, sha256: "ab" },
    }));
    const expected = [{ messageId: "mail-0001", attachments }];
    const row = { path: "mail-0001/0-fax.pdf", bytes: 9, sha256: "ab" };
    const other = { ...row, path: "mail-0001/1-fax.pdf" };
    expect(checkRecords([row, other], expected).held).toBe(true);
    expect(checkRecords([row, row], expected).found).toBe(
      "a row too many, or a wrong one: mail-0001/0-fax.pdf\nno row: mail-0001/1-fax.pdf",
    );
    expect(checkRecords([row, { ...other, bytes: 8 }], expected).held).toBe(false);
  });
});

function journalOf(entries: readonly Entry[]): Journal {
  const journal = new Journal();
  for (const entry of entries) journal.write(entry);
  return journal;
}

function started(worker: string, messageId: string, generation: number): Entry {
  return { type: "started", worker, messageId, generation, attempt: generation };
}

type Outcome = Extract<Entry, { type: "ended" }>["outcome"];

function ended(
  worker: string,
  messageId: string,
  generation: number,
  outcome: Outcome,
  code?: string,
): Entry {
  const base = {
    type: "ended",
    worker,
    messageId,
    generation,
    outcome,
    durationMs: 4_000,
  } as const;
  return code === undefined ? base : { ...base, code };
}

function attachment(
  type: "stored" | "kept",
  worker: string,
  messageId: string,
  generation: number,
  index: number,
): Entry {
  return { type, worker, messageId, generation, index };
}

function stale(worker: string, messageId: string, generation: number, refused: boolean): Entry {
  return { type: "stale", worker, messageId, generation, write: "complete", refused };
}

function received(id: string, outcome: Received["outcome"]): Received {
  return { mail: { id, from: "a", subject: "b", receivedAt: "2025-04-01T00:00:00Z" }, outcome };
}

function failed(checks: readonly Check[]): string[] {
  return checks.filter(({ held }) => !held).map(({ found }) => found);
}
