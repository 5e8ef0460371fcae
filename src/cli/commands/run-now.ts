import { command } from "../command.ts";
import { callEachId, eachIdArgs } from "../each.ts";

export const runNowCommand = command({
  name: "run-now",
  description: "Makes queued jobs due at once, whatever delay they had",
  args: eachIdArgs,
  run: (given) =>
    callEachId(given, "run_now", {
      done: ["due", "due now"],
      refused: {
        wrong_status: "not due: only a queued job can be. See `leasehold status`.",
        unknown: "not due: there is no such job.",
      },
    }),
});
