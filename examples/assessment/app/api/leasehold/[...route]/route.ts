import { route } from "leasehold/next";
import { assess } from "@/lib/jobs";
import { leasehold } from "@/lib/leasehold";
import { currentUser } from "@/lib/session";

/** Start, status and cancel of assessments, for the user of the session. */
export const { GET, HEAD, POST } = route({
  leasehold,
  jobs: [
    // The user is the key: one assessment in flight for each, which the database sees to.
    { job: assess, options: ({ owner }) => ({ key: owner }) },
  ],
  async authorize() {
    const owner = await currentUser();
    return owner === null ? null : { owner };
  },
});
