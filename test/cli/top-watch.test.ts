import { EventEmitter } from "node:events";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Terminal } from "../../src/cli/top/screen.ts";
import { Stop, type Watching, watchAsJson, watchOnScreen } from "../../src/cli/top/watch.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A state whose head line names its number. */
const state = (n: number): string =>
  JSON.stringify({
    stats: { kinds: [] },
    workers: { at: `2030-01-31T12:00:0${n}Z`, workers: [] },
    running: { jobs: [] },
  });

/** A terminal of 80 columns and 10 lines that keeps what is written to it. */
function fakeTerminal(isTTY = true) {
  const modes: boolean[] = [];
  const input = Object.assign(new EventEmitter(), {
    isTTY,
    setRawMode: (raw: boolean) => void modes.push(raw),
    pause: () => input,
    resume: () => input,
  });
  let written = "";
  const output = Object.assign(new EventEmitter(), {
    columns: 80,
    rows: 10,
    write: (text: string) => {
      written += text;
      output.emit("written");
      return true;
    },
  });
  return {
    terminal: { input, output } as unknown as Terminal,
    input,
    output,
    modes,
    written: () => written,
    /** Resolves once the text has been drawn since the last call. */
    async draws(text: string): Promise<void> {
      while (!written.includes(text)) await new Promise((next) => output.once("written", next));
      written = "";
    },
  };
}

/** Looks that answer one after the other what stands in the list; an error rejects. */
function watching(looks: (string | Error | Promise<string>)[], intervalMs = 1): Watching {
  const stop = new Stop();
  const read = async () => {
    const found = looks.shift();
    if (found instanceof Error) throw found;
    return found ?? new Promise<never>(() => undefined);
  };
  return { intervalMs, read, stop };
}

const leaves = "\u001b[?7h\u001b[?25h\u001b[?1049l";

describe("top on a terminal", () => {
  it("takes the alternate screen without a cursor, and gives both back at q", async () => {
    const { terminal, input, output, modes, written, draws } = fakeTerminal();
    const shown = watchOnScreen(watching([state(2)]), state(1), terminal);
    expect(written().startsWith("\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[H")).toBe(true);
    await draws("12:00:01Z");
    await draws("12:00:02Z");
    expect(modes).toEqual([true]);
    input.emit("data", Buffer.from("xq"));
    expect(await shown).toBe(0);
    expect(written()).toBe(leaves);
    expect(modes).toEqual([true, false]);
    expect([input.listenerCount("data"), output.listenerCount("resize")]).toEqual([0, 0]);
    expect(process.listeners("exit").map(String).join()).not.toContain("#open");
  });

  it("ends with 130 at Ctrl-C, and with what a signal says", async () => {
    const first = fakeTerminal();
    const shown = watchOnScreen(watching([]), state(1), first.terminal);
    first.input.emit("data", "\u0003");
    expect(await shown).toBe(130);
    const second = fakeTerminal();
    const other = watching([]);
    const stopped = watchOnScreen(other, state(1), second.terminal);
    other.stop.with(143);
    expect(await stopped).toBe(143);
    expect(second.written().endsWith(leaves)).toBe(true);
  });

  it("keeps the last state while the database is away, says so, and recovers", async () => {
    const { terminal, input, draws } = fakeTerminal();
    const away = new Error("connect ECONNREFUSED");
    const shown = watchOnScreen(watching([away, away, state(4)]), state(1), terminal);
    await draws("12:00:01Z");
    await draws(
      "12:00:01Z  0 kinds, 0 workers, 0 running\u001b[K\r\nNot up to date: connect ECONNREFUSED",
    );
    await draws("12:00:04Z  0 kinds, 0 workers, 0 running\u001b[K\r\n\u001b[K\r\n");
    input.emit("data", "q");
    await shown;
  });

  it("says that no answer comes, and q does not wait for one", async () => {
    const { terminal, input, draws } = fakeTerminal();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const shown = watchOnScreen(watching([]), state(1), terminal);
    await vi.advanceTimersByTimeAsync(1);
    await vi.advanceTimersByTimeAsync(5_000);
    await draws("Not up to date: the database does not answer");
    input.emit("data", "q");
    expect(await shown).toBe(0);
  });

  it("draws again in another size", async () => {
    const { terminal, input, output, draws, written } = fakeTerminal();
    const shown = watchOnScreen(watching([]), state(1), terminal);
    await draws("No workers.");
    Object.assign(output, { columns: 12, rows: 2 });
    output.emit("resize");
    expect(written()).toBe("\u001b[H2030-01-31 …\u001b[K\r\n\u001b[K\u001b[J");
    input.emit("data", "q");
    await shown;
  });

  it("restores the terminal when drawing fails, or the process ends", async () => {
    const first = fakeTerminal();
    await expect(watchOnScreen(watching(["no json"]), state(1), first.terminal)).rejects.toThrow();
    expect(first.written().endsWith(leaves)).toBe(true);
    const second = fakeTerminal(false);
    const before = new Set(process.listeners("exit"));
    const other = watching([]);
    const shown = watchOnScreen(other, state(1), second.terminal);
    for (const ours of process.listeners("exit")) if (!before.has(ours)) ours(0);
    expect(second.written().endsWith(leaves)).toBe(true);
    other.stop.with(0);
    await shown;
    expect(second.written().split(leaves)).toHaveLength(2);
    expect(second.modes).toEqual([]);
  });
});

describe("top as JSON", () => {
  it("is a line for each look, and an outage is told once", async () => {
    const away = new Error("gone");
    const data: string[] = [];
    const notes: string[] = [];
    const looks = watching([state(2), away, away, state(3), away]);
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      notes.push(String(text));
      if (notes.length === 2) looks.stop.with(143);
      return true;
    });
    const printed = await import("../../src/cli/output.ts");
    vi.spyOn(printed, "printData").mockImplementation((text) => void data.push(text));
    expect(await watchAsJson(looks, state(1))).toBe(143);
    expect(data).toEqual([state(1), state(2), state(3)]);
    expect(notes).toEqual(Array(2).fill("leasehold: gone; trying again\n"));
  });
});
