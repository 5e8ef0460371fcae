import type { Leasehold } from "../client.ts";
import type { Database } from "../database.ts";
import { describeError } from "../describe-error.ts";
import { settledWithin } from "../in-time.ts";
import type { LeaseholdEvents } from "../job-event.ts";
import { createLeasehold } from "../leasehold.ts";
import type { Given } from "./arguments.ts";
import { databaseOf } from "./database.ts";
import { usageError } from "./failure.ts";
import { findRunnable, type RunnableClient } from "./handler-exports.ts";
import { importModule } from "./handler-file.ts";
import { flag } from "./option-values.ts";
import { printNote } from "./output.ts";
import { oneLine } from "./text-width.ts";

const closeTimeoutMs = 2_000;

/** The argument that names the module. */
export const fileArgument = {
  type: "positional",
  description:
    "The module (TypeScript or JavaScript) that exports what handle() answered, or a client",
} as const;

/** The option that leaves some of its kinds to others. */
export const kindsArgument = {
  type: "string",
  valueHint: "a,b",
  repeatable: true,
  description: "Only these of the module's kinds",
} as const;

/**
 * The client that the module exports as it is, or one made of the handlers that it exports; of that
 * one `onError` is told the errors that no caller waits for. The module is the first argument, and
 * the database that of the options, unless others are given.
 */
export async function openRunnable(
  given: Given,
  onError: (event: LeaseholdEvents["error"]) => void,
  {
    file = given.positionals[0] ?? "",
    database = databaseOf,
  }: { file?: string; database?: (given: Given) => Database } = {},
): Promise<RunnableClient> {
  const found = findRunnable(file, await importModule(file));
  if ("handlers" in found) {
    const client = createLeasehold({ database: database(given), handlers: found.handlers });
    client.on("error", onError);
    return client;
  }
  const own = ["schema", "database-url", "listen-url"].find((name) => flag(given, name));
  if (own === undefined) return found.client;
  const problem = "The module exports a client, which has a database of its own.";
  throw usageError(problem, `Leave out --${own}, or export the handlers instead of the client.`);
}

/** One line for a failure that no caller waits for. */
export function tellError({ error, during }: LeaseholdEvents["error"]): void {
  printNote(`leasehold: during ${during}: ${oneLine(describeError(error).message)}`);
}

/**
 * A handler that was given up may hold a connection for ever, and closing would wait for it. The
 * report stands, also where closing fails: the process is about to end.
 */
export function closePatiently(client: Pick<Leasehold, "close">): Promise<void> {
  return settledWithin(client.close(), closeTimeoutMs);
}
