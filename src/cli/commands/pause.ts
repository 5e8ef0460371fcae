import { command } from "../command.ts";
import { callPausing, pausingArgs } from "../pausing.ts";

export const pauseCommand = command({
  name: "pause",
  description: "Keeps the jobs of kinds from being claimed; running ones go on",
  args: pausingArgs,
  run: (given) =>
    callPausing(given, "pause", {
      done: "paused",
      already: "was paused already.",
    }),
});
