import { settledWithin } from "../../in-time.ts";
import type { Argument } from "../arguments.ts";
import { command } from "../command.ts";
import { databaseOf, schemaOf } from "../database.ts";
import { examine } from "../doctor/examine.ts";
import type { Finding } from "../doctor/finding.ts";
import { judge } from "../doctor/judge.ts";
import { exitCodes } from "../exit-codes.ts";
import { usageError } from "../failure.ts";
import { flag, textOption } from "../option-values.ts";
import { printData, printNote } from "../output.ts";

const closeTimeoutMs = 2_000;

const args = {
  "listen-url": {
    type: "string",
    valueHint: "url",
    description: "Where workers listen, past a transaction pooler",
  },
  "drain-url": {
    type: "string",
    valueHint: "url",
    description: "Where the drain route is, to see whether it can be reached and is closed",
  },
} as const satisfies Record<string, Argument>;

export const doctorCommand = command({
  name: "doctor",
  description: "Looks for what is set up wrong; ends with 1 where something is critical",
  args,
  async run(given) {
    const routeUrl = textOption(given, "drain-url") ?? null;
    if (routeUrl !== null && !/^https?:\/\//.test(routeUrl)) {
      throw usageError(
        `--drain-url ${routeUrl} is no address.`,
        "Give one that begins with http:// or https://.",
      );
    }
    const database = databaseOf(given);
    try {
      const facts = await examine({
        ...{ database, routeUrl, schemaName: schemaOf(given) },
        secret: process.env.CRON_SECRET,
      });
      const findings = judge(facts);
      if (flag(given, "json")) printData(JSON.stringify({ findings, facts }));
      else if (findings.length === 0) printNote("All is well.");
      else printData(findings.map(shown).join("\n\n"));
      const isCritical = findings.some(({ severity }) => severity === "critical");
      return isCritical ? exitCodes.failed : exitCodes.done;
    } finally {
      await settledWithin(database.close(), closeTimeoutMs);
    }
  },
});

function shown({ severity, check, finding, fix }: Finding): string {
  return `${severity.toUpperCase()} (${check}) ${finding}\n  ${fix}`;
}
