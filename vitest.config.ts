import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { longFirst } from "./test/support/long-first.ts";

/** The rooms whose tests leave nothing behind in a process; the others put on its signals and streams. */
const rooms = ["sql", "races", "client", "tx", "drivers", "start", "http"];
const withoutTraces = testsIn(rooms);

/** Drains and workers: `npm run test:processes`, with what starts processes of its own. */
const work = testsIn(["drain", "worker"]);

/** Every state and random runs, on the database: minutes of one core, so with the processes. */
const model = testsIn(["model"]);

/** What starts processes of its own at every turn, the command line first. */
const processes = [
  "test/cli/**/*.test.ts",
  "test/*/*process*.test.ts",
  "test/drivers/pglite-folder.test.ts",
  "test/drivers/supabase-{trouble,work}.test.ts",
  "test/worker/killed-workers.test.ts",
  "test/serverless/**/*.test.ts",
];

/** What cuts networks, kills servers and lets standbys take over: `npm run test:faults`. */
const faults = ["test/faults/**/*.test.ts"];

const long =
  /every-state|races\/pairs|deadlocks|sql\/migrate|serverless\/kills|drain-processes|docs-commands|chaos/;

export default defineConfig({
  test: {
    globalSetup: ["test/support/global-setup.ts"],
    sequence: { sequencer: longFirst(long) },
    // Half of the time a test waits, for PostgreSQL or a timer: two more than cores.
    maxWorkers: availableParallelism() + 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      // One process for many files: to load the modules and PGlite for each took half of the time.
      {
        extends: true,
        test: { name: "together", include: withoutTraces, exclude: processes, isolate: false },
      },
      {
        extends: true,
        test: {
          name: "apart",
          include: ["test/**/*.test.ts"],
          exclude: [...withoutTraces, ...work, ...model, ...processes, ...faults],
        },
      },
      { extends: true, test: { name: "model", include: model, isolate: false } },
      { extends: true, test: { name: "work", include: work, exclude: processes, isolate: false } },
      { extends: true, test: { name: "processes", include: processes } },
      { extends: true, test: { name: "faults", include: faults } },
    ],
  },
});

function testsIn(folders: readonly string[]): string[] {
  return folders.map((folder) => `test/${folder}/**/*.test.ts`);
}
