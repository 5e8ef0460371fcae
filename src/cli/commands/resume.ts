import { command } from "../command.ts";
import { callPausing, pausingArgs } from "../pausing.ts";

export const resumeCommand = command({
  name: "resume",
  description: "Lets the jobs of paused kinds be claimed again",
  args: pausingArgs,
  run: (given) =>
    callPausing(given, "resume", {
      done: "resumed",
      already: "was not paused. `leasehold kinds` shows those that are.",
    }),
});
