import type { FunctionName } from "../functions.ts";
import { type Command, command } from "./command.ts";
import { callForJson } from "./database.ts";
import { exitCodes } from "./exit-codes.ts";
import { flag } from "./option-values.ts";
import { printData, printNote } from "./output.ts";
import { type Column, formatTable } from "./table.ts";

/** What a command that shows a whole answer of SQL's is made of. */
export interface ListingParts<Row> {
  /** Of the command, and of the function that it calls. */
  readonly name: FunctionName;
  readonly description: string;
  /** Where in the answer the rows stand. */
  readonly rows: string;
  readonly columns: readonly Column<Row>[];
  /** What is told where there is no row. */
  readonly nothing: string;
}

/** A command without arguments of its own: a table for people, the answer itself for programs. */
export function listing<Row>({ name, description, ...parts }: ListingParts<Row>): Command {
  return command({
    name,
    description,
    async run(given) {
      const json = await callForJson(given, name, {});
      const { [parts.rows]: rows = [] } = JSON.parse(json) as Record<string, Row[]>;
      if (flag(given, "json")) printData(json);
      else if (rows.length > 0) printData(formatTable(parts.columns, rows));
      else printNote(parts.nothing);
      return exitCodes.done;
    },
  });
}
