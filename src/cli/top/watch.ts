import { describeError } from "../../describe-error.ts";
import { type ExitCode, exitCodes } from "../exit-codes.ts";
import { printData, printNote } from "../output.ts";
import { oneLine } from "../text-width.ts";
import { renderTop } from "./render.ts";
import { Screen, type Terminal } from "./screen.ts";
import { parseState, type TopState } from "./state.ts";

/** How long an answer may take before the screen says that there is none. */
const patienceMs = 5_000;

/** Reads the state again and again, until it is told to stop. */
export interface Watching {
  readonly intervalMs: number;
  /** Reads one state, as a line of JSON. */
  read(): Promise<string>;
  readonly stop: Stop;
}

/** What ends a watch, and what the process then ends with. */
export class Stop {
  readonly #controller = new AbortController();
  exitCode: ExitCode = exitCodes.done;

  get stopped(): boolean {
    return this.#controller.signal.aborted;
  }

  with(exitCode: ExitCode): void {
    if (this.stopped) return;
    this.exitCode = exitCode;
    this.#controller.abort();
  }

  /** Resolves with the promise, or undefined after `ms` or when it is to stop. */
  async within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
    const { signal } = this.#controller;
    if (signal.aborted) return undefined;
    let end = (): void => undefined;
    const over = new Promise<undefined>((resolve) => {
      end = () => resolve(undefined);
    });
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
    try {
      return await Promise.race([promise, over]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  async pause(ms: number): Promise<void> {
    await this.within(ms, new Promise(() => undefined));
  }
}

/** What one look brought. */
type Look = { readonly json: string } | { readonly wrong: string };

function look({ read }: Watching): Promise<Look> {
  return read().then(
    (json) => ({ json }),
    (error: unknown) => ({ wrong: oneLine(describeError(error).message) }),
  );
}

/** One line of JSON for each look; a database that is away is told once, until it answers again. */
export async function watchAsJson(watching: Watching, first: string): Promise<ExitCode> {
  const { stop, intervalMs } = watching;
  let away = false;
  printData(first);
  for (;;) {
    await stop.pause(intervalMs);
    const found = await stop.within(2 ** 31 - 1, look(watching));
    if (found === undefined) return stop.exitCode;
    if ("json" in found) printData(found.json);
    else if (!away) printNote(`leasehold: ${found.wrong}; trying again`);
    away = "wrong" in found;
  }
}

/** The state on the whole terminal, the last one while there is no newer. */
export async function watchOnScreen(
  watching: Watching,
  first: string,
  terminal: Terminal,
): Promise<ExitCode> {
  const { stop, intervalMs } = watching;
  let state: TopState = parseState(first);
  let wrong = "";
  const screen = new Screen(terminal, onKey, draw);
  try {
    for (;;) {
      draw();
      await stop.pause(intervalMs);
      const looking = look(watching);
      let found = await stop.within(patienceMs, looking);
      while (found === undefined && !stop.stopped) {
        tell("the database does not answer");
        found = await stop.within(patienceMs, looking);
      }
      if (found === undefined) return stop.exitCode;
      if ("wrong" in found) tell(found.wrong);
      else [state, wrong] = [parseState(found.json), ""];
    }
  } finally {
    screen.close();
  }

  function draw(): void {
    screen.draw(renderTop(state, screen.size, wrong));
  }

  function tell(problem: string): void {
    wrong = `Not up to date: ${problem}`;
    draw();
  }

  function onKey(key: string): void {
    if (key === "q" || key === "Q") stop.with(exitCodes.done);
    if (key === "\u0003") stop.with(exitCodes.interrupted);
  }
}
