import { bulkArgs, callBulk } from "../bulk.ts";
import { command } from "../command.ts";

export const cancelCommand = command({
  name: "cancel",
  description: "Cancels queued jobs at once, and asks running ones to stop",
  args: bulkArgs,
  run: (given) =>
    callBulk(given, "cancel_many", {
      done: {
        cancelled: "cancelled",
        requested: "running: asked to stop; the worker learns of it at its next heartbeat",
      },
      skipped: {
        finished: "not cancelled: it has ended already. See `leasehold status`.",
        unknown: "not cancelled: there is no such job, or it is another owner's.",
      },
    }),
});
