import { parseArgs } from "node:util";
import { minimumMessages } from "../scenarios.ts";
import { defaultLeaseMs } from "../timing.ts";

export interface DemoOptions {
  readonly messages: number;
  readonly leaseMs: number;
  /** Whether the storage folder stays for a look at it. */
  readonly keep: boolean;
}

export const usage = `npm run demo -- [options]

  --messages N   how many messages, at least ${minimumMessages} (one for each scenario); the default
  --lease TIME   how long a lease lasts, 1s to 60s; default ${defaultLeaseMs / 1_000}s. The rest follows it.
  --keep         leave the storage folder for a look at it
  --help         this text

DATABASE_URL=postgres://… runs it on a real server, in schemas of its own that are dropped in the end.`;

/** The options of the command line; "help" when that is asked for. Throws what is wrong, in words. */
export function readOptions(args: readonly string[]): DemoOptions | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      messages: { type: "string", default: String(minimumMessages) },
      lease: { type: "string", default: `${defaultLeaseMs}ms` },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const messages = Number(values.messages);
  if (!Number.isInteger(messages) || messages < minimumMessages || messages > 9_999) {
    throw new Error(`--messages is ${values.messages}. Give ${minimumMessages} to 9999.`);
  }
  return { messages, leaseMs: leaseMs(values.lease), keep: values.keep };
}

function leaseMs(text: string): number {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s)$/.exec(text) ?? [];
  const ms = Math.round(Number(number) * (unit === "s" ? 1_000 : 1));
  if (number === "" || ms < 1_000 || ms > 60_000) {
    throw new Error(`--lease is ${text}. Give 1s to 60s, such as 3s or 2500ms.`);
  }
  return ms;
}
