import { type Check, noticed } from "../check.ts";
import { faultKinds } from "../faults.ts";
import { busyWorkers } from "../quiet.ts";

/** How the processes and the answers behaved while all ran. */
export const conductChecks: readonly Check[] = [
  {
    promise: "verify() finds nothing",
    async look({ direct }) {
      const { rows } = await direct.query(
        "select leasehold.verify() as found, (select count(*)::int from leasehold.jobs) as jobs",
      );
      const [{ found, jobs }] = rows;
      return {
        count: jobs,
        violations: found.violations.map((one: object) => JSON.stringify(one)),
      };
    },
  },
  noticed("no status goes back", ({ books }) => books.statusAnswers),
  noticed("no job is shown to another", ({ books }) => books.statusAnswers),
  noticed("every answer is one that was asked for", ({ books }) => books.promised.length),
  noticed("prune takes nothing young", ({ books }) => books.promised.length),
  noticed("no call fails by its own fault", ({ books }) =>
    [...books.troubles.values()].reduce((sum, count) => sum + count, 0),
  ),
  noticed("no process ends unasked or warns", ({ crew }) => crew.processes),
  {
    promise: "every worker has its slots free in the end",
    async look(scene) {
      return { count: scene.crew.workers.length, violations: await busyWorkers(scene) };
    },
  },
  {
    promise: "each kind of fault happened",
    look: ({ books }) => ({
      count: [...books.faults.values()].reduce((sum, count) => sum + count, 0),
      violations: faultKinds.filter((kind) => !books.faults.has(kind)),
    }),
  },
];
