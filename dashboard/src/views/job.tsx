import { useEffect } from "preact/hooks";
import { isAdmin } from "../api.ts";
import { ago, count, duration, moment, shell, signed } from "../format.ts";
import { now, useAsked } from "../live.ts";
import { attempt, onIds, report, type Verb, verbNames, verbs } from "../parts/act.ts";
import { Ago, Badge, Copyable, JobLink, Nothing, Stale, To } from "../parts/basics.tsx";
import { confirmed } from "../parts/dialog.tsx";
import { Tree } from "../parts/tree.tsx";
import { go, place } from "../route.ts";
import type { Inspected, Job } from "../types.ts";
import { listed } from "./jobs.tsx";
import { Timeline } from "./timeline.tsx";

export function JobView() {
  const id = place.value.id ?? "";
  const { data, error } = useAsked<Inspected | null>("job", { id });
  const job = data?.job;
  useEffect(() => {
    if (job) listed.value = [job];
  });
  if (data === undefined) return <Nothing error={error} />;
  if (data === null || job === undefined) {
    return (
      <Nothing error={error}>There is no job {id}: it was pruned or removed, or never was.</Nothing>
    );
  }
  return (
    <>
      <Stale error={error} />
      <h1>
        <span class="text">{job.kind}</span> <Badge status={job.status} />
      </h1>
      <p class="faint">
        <code>{job.id}</code>
      </p>
      {data.holder !== null && (
        <p class="stale">
          Its key is held by <JobLink id={data.holder.id}>another {data.holder.status} job</JobLink>
          : a re-run will be refused while that lasts.
        </p>
      )}
      {data.expired && (
        <p class="stale">Past its lease or its time: whoever asks for its status next reaps it.</p>
      )}
      {isAdmin() && <Actions job={job} />}
      <Facts data={data} job={job} />
      <Timeline data={data} job={job} />
      <Values data={data} />
      {(data.holds.length > 0 || job.money !== null) && <Money data={data} job={job} />}
      <Commands job={job} />
    </>
  );
}

function act(verb: Verb, job: Job): Promise<void> {
  return attempt(async () => {
    const sure =
      verb !== "remove" ||
      (await confirmed({
        title: "Remove this job?",
        text: "It goes with its events and steps. What it cost stays in the books.",
        button: "Remove",
        jobs: 1,
      }));
    if (!sure) return;
    const outcome = await onIds(verb, [job.id]);
    report(verb, outcome);
    if (verb === "remove" && outcome.done > 0) go({ view: "jobs" });
  });
}

function Actions({ job }: { job: Job }) {
  return (
    <div class="row" role="toolbar" aria-label="Actions">
      {verbNames.map((verb) => (
        <button
          type="button"
          key={verb}
          disabled={!verbs[verb].may(job)}
          onClick={() => void act(verb, job)}
        >
          {verbs[verb].title}
        </button>
      ))}
    </div>
  );
}

function Facts({ data, job }: { data: Inspected; job: Job }) {
  const facts: [string, preact.ComponentChildren][] = [
    [
      "Kind",
      <To key="k" to={{ view: "jobs", kind: job.kind }}>
        {job.kind}
      </To>,
    ],
    [
      "Key",
      job.key && (
        <To key="k" to={{ view: "jobs", kind: job.kind, key: job.key }}>
          {job.key}
        </To>
      ),
    ],
    [
      "Owner",
      job.owner && (
        <To key="o" to={{ view: "jobs", owner: job.owner }}>
          {job.owner}
        </To>
      ),
    ],
    [
      "Attempts",
      `${job.attempts} of ${job.max_attempts}${job.releases > 0 ? `, ${job.releases} released` : ""}`,
    ],
    ["Generation", String(job.generation)],
    ["Run", job.run > 1 ? String(job.run) : null],
    ["Priority", job.priority !== 0 ? String(job.priority) : null],
    ["Worker", job.worker],
    [
      "Lease",
      job.status === "running" && job.lease_until
        ? `${duration(data.lease_ms)}, ends ${ago(job.lease_until, now.value)}`
        : data.lease_ms && duration(data.lease_ms),
    ],
    [
      "Due",
      job.status === "queued" && `${moment(job.run_after)} (${ago(job.run_after, now.value)})`,
    ],
    ["Must start by", job.status === "queued" && job.start_by && moment(job.start_by)],
    ["Created", <Ago key="c" at={job.created_at} />],
    ["Last claimed", job.claimed_at && <Ago key="l" at={job.claimed_at} />],
    ["Finished", job.finished_at && <Ago key="f" at={job.finished_at} />],
    [
      "Last error",
      job.error_code && (
        <span key="e" class="text">
          <code>{job.error_code}</code> {job.error_message}
        </span>
      ),
    ],
    ["Trace", traceOf(data.trace_context)],
    ["Cancel", job.cancel_requested && job.finished_at === null && "requested"],
  ];
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value && (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="text">{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** The id of the trace in which the job was enqueued. */
function traceOf(context: Inspected["trace_context"]): string | undefined {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(context?.traceparent ?? "")?.[1];
}

function Values({ data }: { data: Inspected }) {
  const values = [
    ["Payload", data.payload],
    ["Progress", data.progress],
    ["Result", data.result],
    ["Payload of the next run", data.rerun],
  ] as const;
  return (
    <div class="columns">
      {values.map(
        ([title, value], i) =>
          (i === 0 || value !== null) && (
            <section key={title}>
              <h2>{title}</h2>
              <div class="card tree">
                <Tree value={value} />
              </div>
            </section>
          ),
      )}
    </div>
  );
}

function Money({ data, job }: { data: Inspected; job: Job }) {
  return (
    <section>
      <h2>Money</h2>
      <p>
        {job.money?.replaceAll("_", " ")}
        {job.external && " (a ledger elsewhere)"}
        {data.refunded > 0 && `, ${count(data.refunded)} refunded`}
      </p>
      {data.holds.map(({ run, account, amount, state, created_at, ended_at }) => (
        <p key={run}>
          Run {run}: {signed(-amount)} of <To to={{ view: "credits", account }}>{account}</To> held{" "}
          <Ago at={created_at} />, {state.replaceAll("_", " ")} {ended_at && <Ago at={ended_at} />}
        </p>
      ))}
    </section>
  );
}

function Commands({ job }: { job: Job }) {
  return (
    <section>
      <h2>By hand</h2>
      {verbNames
        .filter((verb) => verbs[verb].may(job))
        .map((verb) => (
          <details key={verb} class="card">
            <summary>{verbs[verb].title}</summary>
            <Copyable text={`npx leasehold ${verb.replace("_", "-")} ${shell(job.id)}`} />
            <Copyable text={`select leasehold.${verb}('${job.id}');`} />
          </details>
        ))}
      <details class="card">
        <summary>Look at it</summary>
        <Copyable
          text={`npx leasehold jobs --kind ${shell(job.kind)}${job.key === null ? "" : ` --key ${shell(job.key)}`}`}
        />
        <Copyable text={`select jsonb_pretty(leasehold.inspect('${job.id}'));`} />
      </details>
    </section>
  );
}
