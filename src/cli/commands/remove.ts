import { command } from "../command.ts";
import { callEachId, eachIdArgs } from "../each.ts";

export const removeCommand = command({
  name: "remove",
  description: "Deletes finished jobs with their events and steps",
  args: eachIdArgs,
  run: (given) =>
    callEachId(given, "remove", {
      done: ["removed", "removed"],
      refused: {
        wrong_status: "not removed: it is unfinished. Cancel it first.",
        money_unsettled: "not removed: its ledger is being asked what it cost. Try again later.",
        unknown: "not removed: there is no such job.",
      },
    }),
});
