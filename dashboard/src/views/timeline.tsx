import { ago, duration, moment, timeOfDay } from "../format.ts";
import { now } from "../live.ts";
import { Tree } from "../parts/tree.tsx";
import type { Inspected, Job, JobEvent } from "../types.ts";

interface Moment {
  readonly at: string;
  readonly title: string;
  readonly tone: string;
  readonly more: preact.ComponentChildren;
}

const tones: Readonly<Record<string, string>> = {
  failed: "bad",
  reaped: "warn",
  refused: "warn",
  released: "",
  cancelled: "",
  result_dropped: "warn",
};

/** The events of the job, with its birth, its present claim and its end in between. */
export function Timeline({ data, job }: { data: Inspected; job: Job }) {
  const moments: Moment[] = [
    { at: job.created_at, title: "enqueued", tone: "", more: null },
    ...data.events.map(momentOf),
    ...data.steps.map(({ name, generation, saved_at }) => ({
      at: saved_at,
      title: `step ${name} saved`,
      tone: "",
      more: <span class="faint">generation {generation}</span>,
    })),
  ];
  if (job.claimed_at !== null) {
    moments.push({
      at: job.claimed_at,
      title: `claimed as generation ${job.generation}`,
      tone: "",
      more: (
        <span class="text faint">
          {job.worker && `by ${job.worker}, `}lease {duration(data.lease_ms)}
        </span>
      ),
    });
  }
  if (job.status === "completed" && job.finished_at !== null) {
    moments.push({ at: job.finished_at, title: "completed", tone: "good", more: null });
  }
  if (job.status === "queued" && Date.parse(job.run_after) > now.value) {
    moments.push({
      at: job.run_after,
      title: "due again",
      tone: "ahead",
      more: <span class="faint">{ago(job.run_after, now.value)}</span>,
    });
  }
  // Those of one moment stay in the order in which they came about.
  moments.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  return (
    <section>
      <h2>Timeline</h2>
      <ol class="timeline">
        {moments.map(({ at, title, tone, more }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a moment has no other name
          <li key={i} class={tone}>
            <span class="when" title={moment(at)}>
              {timeOfDay(at)}
            </span>
            <div>
              <b class="text">{title}</b> {more}
            </div>
          </li>
        ))}
      </ol>
      {data.events.length === 500 && <p class="faint">Older events are not shown.</p>}
    </section>
  );
}

function momentOf({ at, event, generation, code, message, detail }: JobEvent): Moment {
  const {
    attempt: nth,
    to,
    worker,
    retry_after_ms: delay,
    lease_until: lease,
    action,
    ...others
  } = (detail ?? {}) as Record<string, unknown>;
  const title =
    event === "refused"
      ? `a stale ${action ?? "write"} was refused`
      : `${event.replaceAll("_", " ")}${nth === undefined ? "" : `, attempt ${nth}`}`;
  const words = [
    generation === null ? "" : `generation ${generation}`,
    worker ? `by ${worker}` : "",
    to ? `→ ${to}` : "",
    typeof delay === "number" ? `again after ${duration(delay)}` : "",
    typeof lease === "string" ? `lease until ${moment(lease)}` : "",
  ].filter(Boolean);
  return {
    at,
    title,
    tone: tones[event] ?? "",
    more: (
      <>
        <span class="faint text">{words.join(" · ")}</span>
        {(code || message) && (
          <div class="text">
            {code && <code>{code}</code>} {message}
          </div>
        )}
        {Object.keys(others).length > 0 && <Tree value={others} depth={3} />}
      </>
    ),
  };
}
