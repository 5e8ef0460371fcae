import type { Argument } from "../arguments.ts";
import { command } from "../command.ts";
import { referenceArgs, tellCrediting } from "../crediting.ts";
import { amountArgument, jobId, referenceOption } from "../option-values.ts";

const args = {
  id: { type: "positional", description: "The id of a completed job" },
  amount: { type: "positional", description: "So many credits, 1 or more" },
  ...referenceArgs,
} as const satisfies Record<string, Argument>;

export const refundCommand = command({
  name: "refund",
  description: "Gives back what a completed job cost, or a part, once per reference",
  args,
  run: (given) =>
    tellCrediting(given, "refund", {
      p_job_id: jobId("ID", given.positionals[0] ?? ""),
      p_amount: amountArgument(given),
      p_reference: referenceOption(given),
    }),
});
