import { type MigrateOptions, migrate, renderSql } from "../../schema/index.ts";
import { isIdentifier } from "../../schema/schema-name.ts";
import type { Given } from "../arguments.ts";
import { command } from "../command.ts";
import { databaseOf, schemaOf } from "../database.ts";
import { exitCodes } from "../exit-codes.ts";
import { usageError, wrongValue } from "../failure.ts";
import { flag } from "../option-values.ts";
import { printData } from "../output.ts";

export const migrateCommand = command({
  name: "migrate",
  description: "Installs leasehold's schema, or brings an older one up to date",
  args: {
    print: {
      type: "boolean",
      description: "Print the SQL instead, for migrations of your own; no database is needed",
    },
    role: {
      type: "string",
      valueHint: "name",
      repeatable: true,
      description: "A role that may call the functions, beside those granted before; repeatable",
    },
    "my-job": {
      type: "boolean",
      description:
        "For Supabase: let signed-in users call my_job(id), the status of their own jobs",
    },
    "no-my-job": { type: "boolean", description: "Take my_job away again" },
  },
  async run(given) {
    const roles = given.values("role");
    const wrong = roles.find((role) => !isIdentifier(role));
    if (wrong !== undefined) throw wrongValue("--role", wrong, "the name of a role");
    // Also where it is not printed: it refuses names that can't be used, before anything is opened.
    const options = { roles, ...myJobOption(given) };
    const sql = renderSql({ ...options, schema: schemaOf(given) });
    if (flag(given, "print")) {
      if (flag(given, "json")) throw usageError("--print prints SQL.", "Leave out --json.");
      printData(sql);
      return exitCodes.done;
    }
    const database = databaseOf(given);
    try {
      const result = await migrate(database, options);
      const done = result.changed ? "now at" : "already at";
      const text = `The schema ${JSON.stringify(database.schema)} is ${done} version ${result.version}.`;
      printData(flag(given, "json") ? JSON.stringify(result) : text);
      return exitCodes.done;
    } finally {
      await database.close();
    }
  },
});

/** Neither leaves the function as it is. */
function myJobOption(given: Given): Pick<MigrateOptions, "myJob"> {
  const [wanted, unwanted] = [flag(given, "my-job"), flag(given, "no-my-job")];
  if (wanted && unwanted)
    throw usageError("--my-job and --no-my-job exclude each other.", "Give one.");
  return wanted || unwanted ? { myJob: wanted } : {};
}
