import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Given } from "../../src/cli/arguments.ts";
import { databaseOf } from "../../src/cli/database.ts";
import { watchStopSignals } from "../../src/cli/stop-signals.ts";

/* What can't be seen from outside of the process, or only by luck. */

const notes: string[] = [];
const { isTTY } = process.stderr;

beforeEach(() => {
  notes.length = 0;
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    notes.push(String(text));
    return true;
  });
});
afterEach(() => {
  process.stderr.isTTY = isTTY;
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe("the start of the embedded database, which takes seconds", () => {
  const nothing: Given = { positionals: [], values: () => [] };

  it.each([
    ["is announced at a terminal", true, "", 1],
    ["is no news for a program", false, "", 0],
    ["is not meant where a server is named", true, "postgres://localhost/none", 0],
  ])("%s", (_, terminal, url, count) => {
    vi.stubEnv("DATABASE_URL", url);
    vi.stubEnv("POSTGRES_URL", "");
    process.stderr.isTTY = terminal;
    databaseOf(nothing);
    expect(notes).toHaveLength(count);
  });
});

describe("Ctrl-C", () => {
  /** Our listener alone, for the test's runner has its own. */
  function watch() {
    const before = new Set(process.listeners("SIGINT"));
    const termBefore = new Set(process.listeners("SIGTERM"));
    const signals = watchStopSignals();
    const [interrupt] = process.listeners("SIGINT").filter((each) => !before.has(each));
    const [term] = process.listeners("SIGTERM").filter((each) => !termBefore.has(each));
    if (interrupt) process.off("SIGINT", interrupt);
    if (term) process.off("SIGTERM", term);
    return { signals, interrupt: () => interrupt?.("SIGINT") };
  }

  it("counts once where npm hands on what the terminal has sent already", () => {
    const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
    const stop = vi.fn(() => "Stopping");
    const now = vi.spyOn(performance, "now").mockReturnValue(1_000);
    const { signals, interrupt } = watch();
    signals.begin(stop);

    interrupt();
    expect(stop).toHaveBeenCalledExactlyOnceWith("SIGINT");
    now.mockReturnValue(1_100);
    interrupt();
    expect(exit).not.toHaveBeenCalled();
    expect(signals.exitCode).toBe(130);
    now.mockReturnValue(1_400);
    interrupt();
    expect(exit).toHaveBeenCalledExactlyOnceWith(130);
  });
});
