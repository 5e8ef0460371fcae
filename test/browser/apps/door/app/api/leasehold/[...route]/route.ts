import { route } from "leasehold/next";
import { jobs } from "../../../../lib/jobs";
import { leasehold } from "../../../../lib/leasehold";

export const { GET, HEAD, POST } = route({
  leasehold,
  jobs,
  authorize: (request) => {
    const owner = request.headers.get("x-user");
    return owner === null ? null : { owner };
  },
});
