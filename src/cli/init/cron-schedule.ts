import { usageError, wrongValue } from "../failure.ts";

/** What Vercel's free plan allows: once a day, at some minute of that hour, in UTC. */
export const daily = "0 0 * * *";

/** Where the two positional arguments may stand: a folder has no blanks at such places. */
const looksLikeSchedule = /^[@*]|^\S+(\s+\S+){3,}$/;

const wellFormed = /^[\d*,/-]+( [\d*,/-]+){4}$/;

/**
 * FOLDER and SCHEDULE of the command line, in any order. A schedule counts with --vercel-cron alone;
 * what it means is for Vercel to judge, what has another shape is a slip. Throws a usage error.
 */
export function readPositionals(
  positionals: readonly string[],
  vercelCron: boolean,
): { folder: string; vercelCron: string | undefined } {
  const schedules = positionals.filter((each) => looksLikeSchedule.test(each));
  const [folder = ".", surplus] = positionals.filter((each) => !looksLikeSchedule.test(each));
  const [schedule, another] = schedules;
  if (schedule !== undefined && !vercelCron) {
    const problem = `${JSON.stringify(schedule)} is a schedule, which goes with --vercel-cron.`;
    throw usageError(problem, `Write --vercel-cron ${JSON.stringify(schedule)}.`);
  }
  if (surplus !== undefined || another !== undefined) {
    const problem = `init takes no further argument ${JSON.stringify(surplus ?? another)}.`;
    throw usageError(problem, "See `leasehold init --help`.");
  }
  if (schedule !== undefined && !wellFormed.test(schedule)) {
    const accepted = 'five fields of digits and * , - /, such as "*/5 * * * *"';
    throw wrongValue("--vercel-cron", schedule, accepted);
  }
  return { folder, vercelCron: vercelCron ? (schedule ?? daily) : undefined };
}
