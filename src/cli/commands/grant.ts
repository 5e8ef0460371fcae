import type { Argument } from "../arguments.ts";
import { command } from "../command.ts";
import { referenceArgs, tellCrediting } from "../crediting.ts";
import { accountArgument, amountArgument, referenceOption } from "../option-values.ts";

const args = {
  account: { type: "positional", description: "The name of an account" },
  amount: { type: "positional", description: "So many credits, 1 or more" },
  ...referenceArgs,
} as const satisfies Record<string, Argument>;

export const grantCommand = command({
  name: "grant",
  description: "Adds credits to an account, once per reference",
  args,
  run: (given) =>
    tellCrediting(given, "grant_credits", {
      p_account: accountArgument(given),
      p_amount: amountArgument(given),
      p_reference: referenceOption(given),
    }),
});
