import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { attempt } from "../../describe-error.ts";
import type { Given } from "../arguments.ts";
import { databaseOf, schemaOf } from "../database.ts";
import { usageError } from "../failure.ts";
import { flag, integerOption } from "../option-values.ts";
import { printNote } from "../output.ts";
import { type Embedded, openEmbedded } from "./embedded.ts";

/** The database that the command, the worker and the tick use. */
export type DevDatabase = Pick<Embedded, "database" | "close"> & {
  /** Of an embedded one alone. */
  readonly url?: string;
  readonly lost?: Promise<Error>;
};

const names = ["DATABASE_URL", "POSTGRES_URL"] as const;

/** Where a framework may find the same names, with less say than the environment has. */
const envFiles = [".env.development.local", ".env.local", ".env.development", ".env"];

/**
 * Opens the database that is configured, else an embedded one, and sets the environment of this
 * process, and so of the command, to it. A real database is never hidden without a word.
 */
export async function openDevDatabase(given: Given): Promise<DevDatabase> {
  const port = integerOption(given, "port", { min: 0, max: 65_535 });
  const [url] = given.values("database-url");
  const source = url === undefined ? names.find((name) => process.env[name]) : "--database-url";
  if (source !== undefined) {
    if (flag(given, "port")) {
      const hint = `Leave out --port, or ${source}, which names a database that has its own.`;
      throw usageError("--port is the port of an embedded database.", hint);
    }
    const database = databaseOf(given); // refuses a bad URL before it is set
    if (url !== undefined) setUrl(url);
    printNote(`The database is the one that ${source} names; no embedded one is opened.`);
    return { database, close: () => database.close() };
  }
  if (process.stderr.isTTY) printNote("Opening the embedded database in .leasehold/ …");
  const embedded = await openEmbedded(schemaOf(given), port ?? 0);
  setUrl(embedded.url);
  printNote(`DATABASE_URL=${embedded.url} (embedded, in .leasehold/)`);
  for (const file of envFiles) tellHidden(file);
  return embedded;
}

function setUrl(url: string): void {
  for (const name of names) process.env[name] = url;
}

function tellHidden(file: string): void {
  const text = attempt(() => readFileSync(file, "utf8")) ?? "";
  const [, name] =
    /^\s*(?:export\s+)?(DATABASE_URL|POSTGRES_URL)\s*=\s*["']?[^\s"'#]/m.exec(text) ?? [];
  if (name === undefined) return;
  printNote(
    `${file} sets ${name} as well, and the embedded database goes before it. To use that one, set ${name} in the environment.`,
  );
}

/** The secret that the tick sends; one is made up, for the command as well, where there is none. */
export function cronSecret(): string {
  process.env.CRON_SECRET ||= randomBytes(24).toString("base64url");
  return process.env.CRON_SECRET;
}
