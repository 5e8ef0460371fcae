import { migrate, renderSql } from "../../schema/index.ts";
import { isIdentifier } from "../../schema/schema-name.ts";
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
  },
  async run(given) {
    const roles = given.values("role");
    const wrong = roles.find((role) => !isIdentifier(role));
    if (wrong !== undefined) throw wrongValue("--role", wrong, "the name of a role");
    // Also where it is not printed: it refuses names that can't be used, before anything is opened.
    const sql = renderSql({ schema: schemaOf(given), roles });
    if (flag(given, "print")) {
      if (flag(given, "json")) throw usageError("--print prints SQL.", "Leave out --json.");
      printData(sql);
      return exitCodes.done;
    }
    const database = databaseOf(given);
    try {
      const result = await migrate(database, { roles });
      const done = result.changed ? "now at" : "already at";
      const text = `The schema ${JSON.stringify(database.schema)} is ${done} version ${result.version}.`;
      printData(flag(given, "json") ? JSON.stringify(result) : text);
      return exitCodes.done;
    } finally {
      await database.close();
    }
  },
});
