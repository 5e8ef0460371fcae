import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Tests that call functions and look at rows alone: nothing of theirs stays behind in a process. */
const withoutTraces = ["sql", "races", "client", "tx"].map((room) => `test/${room}/**/*.test.ts`);

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    // Half of the time a test waits, for PostgreSQL or a timer: two more than cores.
    maxWorkers: availableParallelism() + 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      // One process for many files: to load the modules and PGlite for each took half of the time.
      { extends: true, test: { name: "functions", include: withoutTraces, isolate: false } },
      {
        extends: true,
        test: { name: "processes", include: ["test/**/*.test.ts"], exclude: withoutTraces },
      },
    ],
  },
});
