import { defineConfig } from "vitest/config";
import { longFirst } from "../support/long-first.ts";

const long = /failures|door|assessment\.e2e|init|without-peers|dashboard/;

/** Two files at a time: a build takes all cores, but a test that follows a page mostly waits. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["**/*.e2e.ts"],
    maxWorkers: 2,
    sequence: { sequencer: longFirst(long) },
    // For machines that are busy: a build takes half a minute of two cores.
    testTimeout: 400_000,
    hookTimeout: 500_000,
  },
});
