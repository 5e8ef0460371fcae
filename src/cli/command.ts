import { type CommandDef, defineCommand } from "citty";
import type { Argument, Given } from "./arguments.ts";
import { packageVersion } from "./version.ts";

/** What a command is made of. */
export interface CommandParts {
  readonly name: string;
  readonly description: string;
  /** Arguments and options of its own, in the order in which help shows them. */
  readonly args?: Readonly<Record<string, Argument>>;
  /** Answers what the process ends with: one of `exitCodes`, or what a command run by it ended with. */
  run(given: Given): Promise<number>;
}

/** A command, with its arguments as the strict reading of the command line needs them. */
export interface Command {
  readonly citty: CommandDef;
  readonly args: Readonly<Record<string, Argument>>;
}

/** The options of every command. */
const commonArgs = {
  schema: {
    type: "string",
    valueHint: "name",
    description: "The schema of leasehold's functions (default: leasehold)",
  },
  "database-url": {
    type: "string",
    valueHint: "url",
    description:
      "The PostgreSQL (default: DATABASE_URL, POSTGRES_URL, else embedded in .leasehold/)",
  },
  json: { type: "boolean", description: "Print one JSON value: what the SQL function answers" },
  debug: { type: "boolean", description: "Show where an error comes from (or LEASEHOLD_DEBUG=1)" },
  help: { type: "boolean", alias: "h", description: "Show this text" },
} as const satisfies Record<string, Argument>;

/** Makes a command: its own arguments, then the common options. */
export function command({ name, description, args, run }: CommandParts): Command {
  const all: Record<string, Argument> = { ...args, ...commonArgs };
  return {
    args: all,
    citty: defineCommand({
      meta: { name, description, version: packageVersion },
      args: all,
      // `program.ts` hands over what it has read, for citty would read it less strictly.
      run: ({ data }) => run(data as Given),
    }),
  };
}
