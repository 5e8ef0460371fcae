/**
 * `leasehold` as the functions import it: that of src/, whose handlers tell of each run before they
 * begin, and whose clients tell of each drain.
 */
import {
  createLeasehold as createPlain,
  type handle as Handle,
  handle as plain,
} from "../../../src/index.ts";
import { tell } from "./reports.ts";
import { noteRun } from "./runs.ts";
import { watched } from "./watched.ts";

export * from "../../../src/index.ts";

export const handle = ((definition, run, options) =>
  plain(
    definition,
    async (job) => {
      const { id, key, generation, attempt } = job;
      await noteRun(id, generation);
      await tell({ type: "handled", id, key: key ?? "", generation, attempt });
      return run(job);
    },
    options,
  )) as typeof Handle;

export const createLeasehold: typeof createPlain = (options) => watched(createPlain(options));
