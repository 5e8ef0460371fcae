import { route } from "leasehold/next";
import { bounds, leasehold } from "../../../../lib/leasehold.ts";

export const { GET, HEAD, POST } = route({
  leasehold,
  jobs: [],
  authorize: () => null,
  drain: bounds,
});
