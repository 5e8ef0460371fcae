import { settledWithin } from "../../in-time.ts";
import type { Argument } from "../arguments.ts";
import { command } from "../command.ts";
import { jsonCalls } from "../database.ts";
import { exitCodes } from "../exit-codes.ts";
import { durationOption, flag } from "../option-values.ts";
import { printData } from "../output.ts";
import { renderTop } from "../top/render.ts";
import { parseState, readJson } from "../top/state.ts";
import { Stop, type Watching, watchAsJson, watchOnScreen } from "../top/watch.ts";

const defaultIntervalMs = 2_000;
const closeTimeoutMs = 500;

const args = {
  interval: {
    type: "string",
    valueHint: "duration",
    description: "Between two looks, 250ms to 1h (default: 2s)",
  },
  once: { type: "boolean", description: "Print one state and end, as without a terminal" },
} as const satisfies Record<string, Argument>;

export const topCommand = command({
  name: "top",
  description: "Shows kinds, workers and running jobs, and keeps showing them; q ends it",
  args,
  async run(given) {
    const intervalMs = durationOption(given, "interval", { min: 250, max: 3_600_000 });
    const calls = jsonCalls(given);
    const stop = stopOfProcess();
    const read = () => readJson(calls);
    const watching: Watching = { read, stop, intervalMs: intervalMs ?? defaultIntervalMs };
    try {
      // A first look that fails is no outage to wait for: the URL may be wrong, the schema missing.
      const first = await stop.within(2 ** 31 - 1, read());
      if (first === undefined) return stop.exitCode;
      const [once, json] = [flag(given, "once"), flag(given, "json")];
      if (json && !once) return await watchAsJson(watching, first);
      if (process.stdout.isTTY && !once) {
        const terminal = { input: process.stdin, output: process.stdout };
        return await watchOnScreen(watching, first, terminal);
      }
      const everything = { width: Number.POSITIVE_INFINITY, height: Number.POSITIVE_INFINITY };
      printData(json ? first : renderTop(parseState(first), everything).join("\n"));
      return exitCodes.done;
    } finally {
      // A query that nobody answers would keep the pool from closing.
      await settledWithin(calls.close(), closeTimeoutMs);
    }
  },
});

/** Stops by the signals, and when the reader of the output has gone. */
function stopOfProcess(): Stop {
  const stop = new Stop();
  process.on("SIGINT", () => stop.with(exitCodes.interrupted));
  process.on("SIGTERM", () => stop.with(exitCodes.terminated));
  process.stdout.on("error", () => stop.with(exitCodes.done));
  return stop;
}
