import type { JobPoll } from "leasehold/react";
import type { Progress, Report } from "@/lib/report";
import { ReportView } from "./report-view";

/** One assessment as it goes on, and what came of it. */
export function JobCard({ job, error, isPolling, cancel }: JobPoll<Report, Progress>) {
  const address = job?.result?.address ?? job?.progress?.address;
  const isOpen = job?.status === "queued" || job?.status === "running";
  return (
    <section className="card" aria-labelledby="job" data-job={job?.id} data-status={job?.status}>
      <div className="heading">
        <h2 id="job">{address ?? "Your assessment"}</h2>
        {job && <span className={`badge ${job.status}`}>{job.status}</span>}
      </div>
      <div role="status">
        <p className="message">{job ? job.message : "Asking how it stands …"}</p>
        {isOpen && <p className="quiet">{job.progress?.step ?? "About to begin"}</p>}
      </div>
      {isOpen && (
        <div className="row">
          <progress max={100} value={job.progress?.percent ?? 0} aria-label="Progress" />
          <button type="button" onClick={cancel} disabled={job.cancelRequested}>
            {job.cancelRequested ? "Cancelling …" : "Cancel"}
          </button>
        </div>
      )}
      {error && (
        <p className="notice bad" role="alert">
          {isPolling ? "No connection. This is the last we know; trying again …" : error.message}
        </p>
      )}
      {job?.result && <ReportView report={job.result} />}
    </section>
  );
}
