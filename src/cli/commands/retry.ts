import { bulkArgs, callBulk } from "../bulk.ts";
import { command } from "../command.ts";

export const retryCommand = command({
  name: "retry",
  description: "Queues failed or cancelled jobs again, with all their attempts",
  args: bulkArgs,
  run: (given) =>
    callBulk(given, "retry_many", {
      done: { retried: "retried" },
      skipped: {
        conflict: "not retried: another unfinished job holds its key. Wait for that one to end.",
        insufficient:
          "not retried: its account has less available than it costs. Grant some first.",
        money_unsettled: "not retried: its ledger is being asked what it cost. Try again later.",
        wrong_status: "not retried: only a failed or cancelled job can be. See `leasehold status`.",
        unknown: "not retried: there is no such job, or it is another owner's.",
      },
    }),
});
