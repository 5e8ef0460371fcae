import { attempt } from "../../../describe-error.ts";
import { exitCodes } from "../../exit-codes.ts";
import { CliError } from "../../failure.ts";
import type { Change } from "../change.ts";

interface Journal {
  readonly version: string;
  readonly dialect: string;
  readonly entries: readonly { readonly idx: number; readonly when: number }[];
}

const empty: Journal = { version: "7", dialect: "postgresql", entries: [] };

/** drizzle-kit applies only what its journal lists, and of that what is newer than the last applied. */
export function addToJournal(folder: string, tag: string, now: Date): Change {
  const path = `${folder}/meta/_journal.json`;
  return {
    path,
    purpose: "Drizzle's list of migrations",
    whole: false,
    make(before) {
      const journal = before === undefined ? empty : parse(path, before);
      const last = journal.entries.at(-1);
      const entry = {
        idx: (last?.idx ?? -1) + 1,
        version: journal.version,
        when: Math.max(now.getTime(), (last?.when ?? 0) + 1),
        tag,
        breakpoints: true,
      };
      // As drizzle-kit itself writes it.
      return {
        text: JSON.stringify({ ...journal, entries: [...journal.entries, entry] }, null, 2),
      };
    },
  };
}

function parse(path: string, text: string): Journal {
  const journal = attempt(() => JSON.parse(text)) as Journal | null | undefined;
  if (journal?.dialect === "postgresql" && Array.isArray(journal.entries)) return journal;
  const problem = `${path} is no journal of Drizzle's for PostgreSQL.`;
  const hint = "Nothing was written. Correct it and run init again.";
  throw new CliError(exitCodes.failed, problem, hint);
}
