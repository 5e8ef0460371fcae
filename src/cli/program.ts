import { stripVTControlCharacters } from "node:util";
import { type CommandDef, defineCommand, renderUsage, runCommand } from "citty";
import { readArguments } from "./arguments.ts";
import type { Command } from "./command.ts";
import { exitCodes } from "./exit-codes.ts";
import { usageError } from "./failure.ts";
import { printData, printNote } from "./output.ts";
import { packageVersion } from "./version.ts";

/** Loaded when they are called for: `stats` needs no TypeScript loader. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  migrate: async () => (await import("./commands/migrate.ts")).migrateCommand,
  enqueue: async () => (await import("./commands/enqueue.ts")).enqueueCommand,
  status: async () => (await import("./commands/status.ts")).statusCommand,
  jobs: async () => (await import("./commands/jobs.ts")).jobsCommand,
  retry: async () => (await import("./commands/retry.ts")).retryCommand,
  cancel: async () => (await import("./commands/cancel.ts")).cancelCommand,
  "run-now": async () => (await import("./commands/run-now.ts")).runNowCommand,
  remove: async () => (await import("./commands/remove.ts")).removeCommand,
  stats: async () => (await import("./commands/stats.ts")).statsCommand,
  kinds: async () => (await import("./commands/kinds.ts")).kindsCommand,
  pause: async () => (await import("./commands/pause.ts")).pauseCommand,
  resume: async () => (await import("./commands/resume.ts")).resumeCommand,
  workers: async () => (await import("./commands/workers.ts")).workersCommand,
  doctor: async () => (await import("./commands/doctor.ts")).doctorCommand,
  dashboard: async () => (await import("./commands/dashboard.ts")).dashboardCommand,
  top: async () => (await import("./commands/top.ts")).topCommand,
  credits: async () => (await import("./commands/credits.ts")).creditsCommand,
  grant: async () => (await import("./commands/grant.ts")).grantCommand,
  refund: async () => (await import("./commands/refund.ts")).refundCommand,
  "verify-credits": async () => (await import("./commands/verify-credits.ts")).verifyCreditsCommand,
  verify: async () => (await import("./commands/verify.ts")).verifyCommand,
  alerts: async () => (await import("./commands/alerts.ts")).alertsCommand,
  prune: async () => (await import("./commands/prune.ts")).pruneCommand,
  work: async () => (await import("./commands/work.ts")).workCommand,
  dev: async () => (await import("./commands/dev.ts")).devCommand,
  drain: async () => (await import("./commands/drain.ts")).drainCommand,
  init: async () => (await import("./commands/init.ts")).initCommand,
};

const root = defineCommand({
  meta: {
    name: "leasehold",
    version: packageVersion,
    description: "Leased, fenced background jobs in your PostgreSQL",
  },
  subCommands: Object.fromEntries(
    Object.entries(commands).map(([name, load]) => [name, async () => (await load()).citty]),
  ),
});

const exitCodeText = `EXIT CODES

  0  done, also where jobs of a drain failed
  1  the operation failed
  2  the command line is wrong
  3  refused because of a job's state, or for some of the ids
  130, 143  a drain, a worker or init was stopped by Ctrl-C or SIGTERM

  dev ends with the code of its command; 126, 127: it can't be run, or there is none`;

/** Runs one command line, without the names of node and script. */
export async function runProgram([name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined) {
    printNote(await rootUsage());
    return exitCodes.usage;
  }
  if (name === "--version" || name === "-v") {
    printData(packageVersion);
    return exitCodes.done;
  }
  if (asksForHelp([name])) {
    printData(await rootUsage());
    return exitCodes.done;
  }
  const command = await commandNamed(name);
  if (asksForHelp(rest)) {
    printData(await usageText(command.citty, root));
    return exitCodes.done;
  }
  const given = readArguments(name, command.args, rest);
  // citty sees the positional arguments alone; it checks that none is missing.
  const rawArgs = ["--", ...given.positionals];
  const { result } = await runCommand(command.citty, { rawArgs, data: given });
  return result as number;
}

/** Whether `--help` stands among the options; behind `--` it would be an argument. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const options = end < 0 ? args : args.slice(0, end);
  return options.includes("--help") || options.includes("-h");
}

async function commandNamed(name: string): Promise<Command> {
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (load !== undefined) return load();
  if (name.startsWith("-")) {
    const hint = "For example: leasehold jobs --limit 10. See `leasehold --help`.";
    throw usageError(`The option ${name} stands before the command.`, hint);
  }
  const known = Object.keys(commands).join(", ");
  throw usageError(`leasehold has no command ${JSON.stringify(name)}.`, `Commands: ${known}.`);
}

async function rootUsage(): Promise<string> {
  return `${await usageText(root)}\n\n${exitCodeText}`;
}

/** citty colours its text even in a pipe, and pads the ends of lines. */
async function usageText(command: CommandDef, parent?: CommandDef): Promise<string> {
  const text = await renderUsage(command, parent);
  const fit = process.stdout.isTTY ? text : stripVTControlCharacters(text);
  return fit.replaceAll(/[ \t]+$/gm, "").trimEnd();
}
