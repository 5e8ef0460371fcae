import { settledWithin } from "../../in-time.ts";
import type { WorkOptions } from "../../work-options.ts";
import type { Argument, Given } from "../arguments.ts";
import { command } from "../command.ts";
import { type CommandProcess, startCommand } from "../dev/command-process.ts";
import { cronSecret, type DevDatabase, openDevDatabase } from "../dev/environment.ts";
import { startTick } from "../dev/tick.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError, wrongValue } from "../failure.ts";
import { tellJobs, tellOwnError } from "../job-lines.ts";
import { durationOption, flag, integerOption, textOption } from "../option-values.ts";
import { keepStdoutForData, printData, printNote } from "../output.ts";
import { closePatiently, openRunnable } from "../runnable-client.ts";
import { watchStopSignals } from "../stop-signals.ts";
import { surviveStrayErrors } from "../stray-errors.ts";

const args = {
  "command…": {
    type: "positional",
    required: false,
    description: "Behind --: a command to run beside it, such as: next dev",
  },
  handlers: {
    type: "string",
    valueHint: "file",
    description: "Run jobs by what this module exports, as `leasehold work` does",
  },
  concurrency: { type: "string", valueHint: "n", description: "Jobs at a time (default: 10)" },
  port: {
    type: "string",
    valueHint: "port",
    description: "Of the embedded database, on 127.0.0.1 (default: any that is free)",
  },
  tick: {
    type: "string",
    valueHint: "duration",
    description: "How often it does what a cron would (default: 10s)",
  },
  "tick-url": {
    type: "string",
    valueHint: "url",
    description: "Asked for at each tick, with CRON_SECRET as bearer",
  },
  grace: {
    type: "string",
    valueHint: "duration",
    description: "At a stop the command, then the jobs, go on for so long (default: 5s)",
  },
  verbose: { type: "boolean", description: "Tell of every job, also of those that complete" },
} as const satisfies Record<string, Argument>;

/** Closing waits for what still runs in the database; the end of the process ends that, too. */
const closeWithinMs = 5_000;

export const devCommand = command({
  name: "dev",
  description: "For development: a database, a worker, a cron and your command in one",
  args,
  async run(given) {
    const options = optionsOf(given);
    const stop = watchForStop();
    if (process.env.NODE_ENV === "production") {
      printNote("leasehold: NODE_ENV is production, and this command is made for development.");
    }
    if (flag(given, "json")) keepStdoutForData();
    const database = await openDevDatabase(given);
    let running: CommandProcess | undefined;
    // From the last that was started to the first: each may need what was there before it.
    const closers: Closers = [() => settledWithin(database.close(), closeWithinMs)];
    const over = Promise.race([stop.asked(), gone(database)]);
    over.catch(() => undefined); // it may be gone before anybody waits
    try {
      const { broken } = await startWorker(given, options, database, closers);
      const tick = { ...options, database: database.database, secret: cronSecret() };
      closers.push(startTick(tick).stop);
      if (given.positionals.length > 0) {
        running = await startCommand(given.positionals, process.env);
        const { end } = running;
        closers.push(() => end(stop.signal, options.graceMs));
      } else if (flag(given, "json")) {
        printData(JSON.stringify({ url: database.url ?? null }));
      }
      await Promise.race([over, broken, ...(running ? [running.ended] : [])]);
    } finally {
      for (const close of closers.reverse()) await close();
    }
    return running?.ended ?? stop.exitCode ?? exitCodes.done;
  },
});

/** The first signal that asks for an end, and which it was. */
interface Stop {
  /** Resolves when it has come. */
  asked(): Promise<void>;
  /** SIGTERM as long as none has. */
  readonly signal: NodeJS.Signals;
  readonly exitCode: number | undefined;
}

function watchForStop(): Stop {
  const signals = watchStopSignals();
  process.once("SIGHUP", () => process.emit("SIGTERM", "SIGTERM")); // the terminal was closed
  let signal: NodeJS.Signals = "SIGTERM";
  return {
    asked: () =>
      new Promise((resolve) => {
        signals.begin((received) => {
          signal = received;
          resolve();
          return "Stopping";
        });
      }),
    get signal() {
      return signal;
    },
    get exitCode() {
      return signals.exitCode;
    },
  };
}

interface DevOptions {
  readonly handlers: string | undefined;
  readonly work: WorkOptions;
  readonly everyMs: number;
  readonly url: string | undefined;
  readonly graceMs: number;
}

type Closers = (() => Promise<unknown>)[];

function optionsOf(given: Given): DevOptions {
  const handlers = textOption(given, "handlers");
  const concurrency = integerOption(given, "concurrency", { min: 1, max: 10_000 });
  const graceMs = durationOption(given, "grace", { min: 0, max: 3_600_000 }) ?? 5_000;
  return {
    handlers,
    work: { signals: false, grace: graceMs, ...(concurrency !== undefined && { concurrency }) },
    everyMs: durationOption(given, "tick", { min: 100, max: 86_400_000 }) ?? 10_000,
    url: urlOption(given, "tick-url"),
    graceMs,
  };
}

function urlOption(given: Given, option: string): string | undefined {
  const [value] = given.values(option);
  if (value === undefined) return undefined;
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url.href;
  throw wrongValue(`--${option}`, value, "a URL such as http://localhost:3000/api/cron");
}

/** Rejects when the embedded database is gone; a server may come back. */
async function gone({ lost }: DevDatabase): Promise<never> {
  const why = await (lost ?? new Promise<never>(() => undefined));
  const hint = "All that was started is ended. Start it again; data that is left is found again.";
  throw new CliError(exitCodes.failed, `The embedded database is gone: ${why.message}.`, hint);
}

/**
 * Begins to work where handlers are given. Answers a promise that rejects where the worker can't
 * begin, and that settles only then.
 */
async function startWorker(
  given: Given,
  { handlers, work }: DevOptions,
  { database }: DevDatabase,
  closers: Closers,
): Promise<{ broken: Promise<unknown> }> {
  const broken = new Promise<never>(() => undefined);
  if (handlers === undefined) {
    printNote(
      "No --handlers, so no worker of mine: your command runs its jobs itself, by start, work or drain.",
    );
    return { broken };
  }
  surviveStrayErrors("worker");
  const parts = { file: handlers, database: () => database };
  const client = await openRunnable(given, tellOwnError, parts);
  closers.push(() => closePatiently(client));
  tellJobs(client, flag(given, "verbose"));
  const worker = client.work(work);
  closers.push(() => worker.stop());
  printNote(`Working as ${worker.name}, ${worker.health().concurrency} at a time.`);
  return { broken: worker.ended.then(() => broken) };
}
