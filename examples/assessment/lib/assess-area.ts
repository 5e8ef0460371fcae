import type { Job, Leasehold } from "leasehold";
import { remember, saveReport } from "./assessments";
import { checkArea } from "./checks";
import { judge } from "./model";
import type { Progress, Report } from "./report";

/** The work of one assessment: what runs behind the answer, for as long as it takes. */
export async function assessArea(
  job: Job<{ address: string }>,
  leasehold: Leasehold,
): Promise<Report> {
  const { address } = job.payload;
  const tell = (percent: number, step: string) =>
    job.progress({ address, percent, step } satisfies Progress);

  await remember(job.id, address);
  await tell(5, "Asking about flood, crime and traffic");
  const { checks, tile } = await checkArea(leasehold, address, job.signal);
  const judgement = await judge(checks, job.signal, (step, share) =>
    tell(Math.round(25 + share * 70), step),
  );
  const report: Report = { address, ...judgement, checks, tileServed: tile.served };

  // The application's row, the job's completion and the point that it costs: one transaction.
  return job.transaction(async (client) => {
    await saveReport(client, job.id, report);
    return report;
  });
}
