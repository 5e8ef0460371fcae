import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { isAdmin } from "../api.ts";
import { count, duration, shortId } from "../format.ts";
import { useAsked } from "../live.ts";
import { attempt, onAll, onIds, report, tell, type Verb, verbNames, verbs } from "../parts/act.ts";
import { Ago, Badge, JobLink, Nothing, Stale, To } from "../parts/basics.tsx";
import { confirmed } from "../parts/dialog.tsx";
import { go, type Place, place } from "../route.ts";
import { type Counts, type Job, type JobsPage, type Status, statuses } from "../types.ts";

const filters = [
  ["kind", "Kind"],
  ["key", "Key"],
  ["owner", "Owner"],
  ["error_code", "Error code"],
  ["id", "Id"],
] as const;

/** The row that the keyboard stands on, by its place. */
export const cursor = signal(0);
/** The jobs on the screen, for the keyboard. */
export const listed = signal<readonly Job[]>([]);
const selected = signal<ReadonlySet<string>>(new Set());

export function toggle(id: string): void {
  const next = new Set(selected.value);
  if (!next.delete(id)) next.add(id);
  selected.value = next;
}

/** What the URL says of jobs, as the server takes it. */
function filterOf(at: Place): Record<string, string> {
  const names = ["status", ...filters.map(([name]) => name)];
  return Object.fromEntries(names.flatMap((name) => (at[name] ? [[name, at[name]]] : [])));
}

export function JobsView() {
  const at = place.value;
  const filter = filterOf(at);
  const { status: _, id: __, ...tabless } = filter;
  const page = useAsked<JobsPage>("jobs", { ...filter, ...(at.after && { after: at.after }) });
  const counts = useAsked<Counts>("counts", tabless, 5_000);
  const jobs = page.data?.jobs ?? [];
  const key = JSON.stringify([filter, at.after]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever other jobs are asked for
  useEffect(() => {
    cursor.value = 0;
    selected.value = new Set();
  }, [key]);
  useEffect(() => {
    listed.value = jobs;
  });
  return (
    <>
      <h1>Jobs</h1>
      <Tabs filter={filter} counts={counts.data} />
      <Filters at={at} />
      <Stale error={page.data && page.error} />
      {isAdmin() && <Selection jobs={jobs} filter={filter} counts={counts.data} />}
      {jobs.length === 0 ? (
        <Nothing error={page.error}>{page.data && nothingIn(page.data)}</Nothing>
      ) : (
        <Table jobs={jobs} />
      )}
      <div class="row end">
        {at.after && <To to={{ ...at, after: "" }}>Newest</To>}
        {page.data?.next && (
          <To to={{ ...at, after: page.data.next }}>
            {jobs.length === 0 ? "Look further back" : "Older"}
          </To>
        )}
      </div>
    </>
  );
}

function nothingIn({ next }: JobsPage): string {
  return next === null ? "No job matches." : "None among the newest ten thousand.";
}

function Tabs({ filter, counts }: { filter: Record<string, string>; counts: Counts | undefined }) {
  const shown = (status: Status): string => {
    if (counts === undefined) return "";
    const known = counts.counts[status];
    return counts.complete ? count(known) : `${count(known)}+`;
  };
  const tab = (status: string, label: string, number: string) => (
    <To
      key={status}
      to={{ view: "jobs", ...filter, id: "", status }}
      {...((filter.status ?? "") === status && { "aria-current": "true" as const })}
    >
      {label} <span class="faint">{number}</span>
    </To>
  );
  return (
    <nav class="tabs" aria-label="Status">
      {tab("", "all", "")}
      {statuses.map((status) => tab(status, status, shown(status)))}
    </nav>
  );
}

function Filters({ at }: { at: Place }) {
  const known = JSON.stringify(filters.map(([name]) => at[name] ?? ""));
  return <FilterForm key={known} at={at} />;
}

/** The URL is what counts: what is typed goes there with Enter, or when the field is left. */
function FilterForm({ at }: { at: Place }) {
  const apply = (form: HTMLFormElement) => {
    const given = Object.fromEntries(
      filters.map(([name]) => [name, String(new FormData(form).get(name) ?? "").trim()]),
    );
    if (filters.some(([name]) => (at[name] ?? "") !== given[name])) {
      go({ ...at, ...given, after: "" });
    }
  };
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        apply(event.currentTarget);
      }}
      onChange={(event) => apply(event.currentTarget)}
    >
      {filters.map(([name, label]) => (
        <label key={name}>
          {label}
          <input
            name={name}
            id={`filter-${name}`}
            defaultValue={at[name] ?? ""}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
      ))}
      {filters.some(([name]) => at[name]) && (
        <To to={{ view: "jobs", status: at.status ?? "" }} class="clear">
          Clear
        </To>
      )}
    </form>
  );
}

function Selection({
  jobs,
  filter,
  counts,
}: {
  jobs: readonly Job[];
  filter: Record<string, string>;
  counts: Counts | undefined;
}) {
  const [all, setAll] = useState(false);
  const [busy, setBusy] = useState(false);
  const chosen = jobs.filter(({ id }) => selected.value.has(id));
  const onPage = jobs.length > 0 && chosen.length === jobs.length;
  const status = filter.status as Status | undefined;
  const matching = status && counts ? counts.counts[status] : 0;
  // A filter names jobs by their status, too, or "all that match" would mean each verb's own.
  const mayAll =
    onPage && filter.id === undefined && status !== undefined && matching > jobs.length;
  const forAll = all && mayAll;
  const run = (verb: Verb) =>
    attempt(async () => {
      const ids = chosen.filter(verbs[verb].may).map(({ id }) => id);
      const jobsMeant = forAll ? matching : ids.length;
      const about = `${counts?.complete === false && forAll ? "at least " : ""}${count(jobsMeant)} ${jobsMeant === 1 ? "job" : "jobs"}`;
      const yes =
        (jobsMeant === 1 && verb !== "remove") ||
        (await confirmed({
          title: `${verbs[verb].title} ${about}?`,
          text: forAll
            ? `All ${status} jobs that match, also those that are not on this page.`
            : "Those that you have selected.",
          button: verbs[verb].title,
          jobs: jobsMeant,
        }));
      if (!yes) return;
      setBusy(true);
      try {
        const progress = ({ done }: { done: number }) => tell(`${count(done)} so far…`);
        report(verb, forAll ? await onAll(verb, filter, progress) : await onIds(verb, ids));
        selected.value = new Set();
        setAll(false);
      } finally {
        setBusy(false);
      }
    });
  return (
    <div class="selection row" role="toolbar" aria-label="Selected jobs">
      <label class="check">
        <input
          type="checkbox"
          checked={onPage}
          disabled={jobs.length === 0}
          onChange={() => {
            selected.value = new Set(onPage ? [] : jobs.map(({ id }) => id));
            setAll(false);
          }}
        />
        {chosen.length === 0 ? "Select all on this page" : `${chosen.length} selected`}
      </label>
      {mayAll && (
        <label class="check">
          <input type="checkbox" checked={all} onChange={() => setAll(!all)} />
          all {counts?.complete ? count(matching) : `${count(matching)}+`} that match
        </label>
      )}
      {verbNames.map((verb) => {
        const may = chosen.filter(verbs[verb].may).length;
        return (
          <button
            type="button"
            key={verb}
            disabled={busy || may === 0}
            onClick={() => void run(verb)}
          >
            {verbs[verb].title}
          </button>
        );
      })}
    </div>
  );
}

function Table({ jobs }: { jobs: readonly Job[] }) {
  return (
    <div class="scroll">
      <table class="jobs">
        <thead>
          <tr>
            {isAdmin() && (
              <th class="narrow">
                <span class="hidden">Select</span>
              </th>
            )}
            <th>Job</th>
            <th>Status</th>
            <th>Attempts</th>
            <th>Key and owner</th>
            <th>Last error</th>
            <th>Created</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job, i) => (
            <Row key={job.id} job={job} here={cursor.value === i} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ job, here }: { job: Job; here: boolean }) {
  return (
    <tr class={here ? "here" : ""} data-job={job.id} {...(here && { "aria-current": "true" })}>
      {isAdmin() && (
        <td class="narrow">
          <input
            type="checkbox"
            aria-label={`Select ${job.kind} ${job.id}`}
            checked={selected.value.has(job.id)}
            onChange={() => toggle(job.id)}
          />
        </td>
      )}
      <td>
        <JobLink id={job.id}>
          <b class="text">{job.kind}</b> <code>{shortId(job.id)}</code>
        </JobLink>
      </td>
      <td>
        <Badge status={job.status} />{" "}
        {job.cancel_requested && <span class="faint">cancel requested</span>}
        <When job={job} />
      </td>
      <td>
        {job.attempts}/{job.max_attempts}
        <span class="faint"> gen {job.generation}</span>
        {job.money && <span class="faint"> · {job.money.replaceAll("_", " ")}</span>}
      </td>
      <td>
        {job.key !== null && <div class="text">{job.key}</div>}
        {job.owner !== null && <div class="text faint">{job.owner}</div>}
      </td>
      <td>
        {job.error_code !== null && <code>{job.error_code}</code>}
        {job.error_message !== null && <div class="text faint clip">{job.error_message}</div>}
      </td>
      <td>
        <Ago at={job.created_at} />
      </td>
    </tr>
  );
}

/** What counts of a job's times in its status. */
function When({ job }: { job: Job }) {
  if (job.status === "running")
    return (
      <div class="faint">
        lease ends <Ago at={job.lease_until} />
      </div>
    );
  if (job.status === "queued")
    return (
      <div class="faint">
        due <Ago at={job.run_after} />
      </div>
    );
  const tookMs =
    job.claimed_at && job.finished_at
      ? Date.parse(job.finished_at) - Date.parse(job.claimed_at)
      : null;
  return (
    <div class="faint">
      <Ago at={job.finished_at} />
      {tookMs !== null && ` in ${duration(tookMs)}`}
    </div>
  );
}
