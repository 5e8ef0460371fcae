import { defineConfig } from "vitest/config";

/** One file after the other: each builds or serves a Next application, which takes all cores. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["**/*.e2e.ts"],
    fileParallelism: false,
    // For machines that are busy: a build takes half a minute of two cores.
    testTimeout: 400_000,
    hookTimeout: 500_000,
  },
});
