import { route } from "leasehold/next";
import { leasehold } from "../../../../lib/leasehold.ts";
import { drainOptions } from "../../../../lib/timing.ts";

/** Seconds: the platform's limit, above the budget of a drain. */
export const maxDuration = 300;

/** `/drain` for the cron, with CRON_SECRET, and `/health`. Nobody starts or follows jobs over HTTP. */
export const { GET, HEAD, POST } = route({
  leasehold,
  jobs: [],
  authorize: () => null,
  drain: drainOptions,
});
