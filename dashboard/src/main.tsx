import "./locale.ts";
import { signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import { isAdmin, openSession, session } from "./api.ts";
import { live } from "./live.ts";
import { attempt, notice, onIds, reasonOf, report, verbs } from "./parts/act.ts";
import { JobLink, To } from "./parts/basics.tsx";
import { Confirm } from "./parts/dialog.tsx";
import { go, place } from "./route.ts";
import "./style.css";
import type { Job } from "./types.ts";
import { AlertsView } from "./views/alerts.tsx";
import { CreditsView } from "./views/credits.tsx";
import { JobView } from "./views/job.tsx";
import { cursor, JobsView, listed, toggle } from "./views/jobs.tsx";
import { KindsView } from "./views/kinds.tsx";
import { OverviewView } from "./views/overview.tsx";
import { WorkersView } from "./views/workers.tsx";

const views: Readonly<Record<string, { title: string; View: () => preact.ComponentChildren }>> = {
  overview: { title: "Overview", View: OverviewView },
  jobs: { title: "Jobs", View: JobsView },
  kinds: { title: "Kinds", View: KindsView },
  credits: { title: "Credits", View: CreditsView },
  workers: { title: "Workers", View: WorkersView },
  alerts: { title: "Alerts", View: AlertsView },
};

const help = signal(false);

function App() {
  const [error, setError] = useState<string>();
  useEffect(() => {
    openSession().catch((thrown: Error) => setError(thrown.message));
  }, []);
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  if (error !== undefined)
    return (
      <p class="empty bad" role="alert">
        {error}
      </p>
    );
  if (session.value === null) return <p class="empty">…</p>;
  const { view = "overview" } = place.value;
  const known = view === "job" ? { title: "Job", View: JobView } : (views[view] ?? views.overview);
  const View = known?.View ?? OverviewView;
  return (
    <>
      <header>
        <To to={{ view: "overview" }} class="title">
          {session.value.title}
        </To>
        <nav aria-label="Views">
          {Object.entries(views).map(([name, { title }]) => (
            <To
              key={name}
              to={{ view: name }}
              {...((view === name || (view === "job" && name === "jobs")) && {
                "aria-current": "page" as const,
              })}
            >
              {title}
            </To>
          ))}
        </nav>
        <div class="row">
          {session.value.role === "read" && <span class="faint">read only</span>}
          <button
            type="button"
            class="small"
            aria-pressed={!live.value}
            onClick={() => {
              live.value = !live.value;
            }}
          >
            {live.value ? "Hold still" : "Refresh"}
          </button>
          <button
            type="button"
            class="small"
            aria-label="Keys"
            onClick={() => {
              help.value = true;
            }}
          >
            ?
          </button>
        </div>
      </header>
      <main id="main">
        <View />
      </main>
      <NoticeBar />
      <Confirm />
      {help.value && <Help />}
    </>
  );
}

function NoticeBar() {
  const said = notice.value;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the signal's value is what it depends on
  useEffect(() => {
    if (said === null || said.bad) return;
    const timer = setTimeout(() => {
      if (notice.value === said) notice.value = null;
    }, 6_000);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <div class="notices" role="status" aria-live="polite">
      {said !== null && (
        <div class={`notice ${said.bad ? "bad" : "good"}`}>
          <div class="row between">
            <span class="text">{said.text}</span>
            <button
              type="button"
              class="small"
              aria-label="Close"
              onClick={() => {
                notice.value = null;
              }}
            >
              ×
            </button>
          </div>
          {said.skipped.length > 1 && (
            <ul>
              {said.skipped.slice(0, 20).map(({ id, outcome }) => (
                <li key={id}>
                  <JobLink id={id}>
                    <code>{id}</code>
                  </JobLink>
                  : {reasonOf(outcome)}
                </li>
              ))}
              {said.skipped.length > 20 && <li>and {said.skipped.length - 20} more</li>}
            </ul>
          )}
        </div>
      )}
    </div>
  );
}

const keys = [
  ["j, k", "down and up in the list of jobs"],
  ["Enter", "open the job"],
  ["x", "select it"],
  ["r", "re-run it"],
  ["/", "filter"],
  ["g", "overview"],
  ["?", "these keys"],
] as const;

function Help() {
  const open = (dialog: HTMLDialogElement | null) => {
    if (dialog && !dialog.open) dialog.showModal();
  };
  const close = () => {
    help.value = false;
  };
  return (
    <dialog ref={open} aria-labelledby="keys-title" onClose={close}>
      <h2 id="keys-title">Keys</h2>
      <dl class="facts">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="row end">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </dialog>
  );
}

function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (
    target.closest("input, textarea, select, dialog") ||
    event.metaKey ||
    event.ctrlKey ||
    event.altKey
  )
    return;
  const onList = place.value.view === "jobs";
  const job = onList ? listed.value[cursor.value] : shownJob();
  const move = (by: number) => {
    cursor.value = Math.min(Math.max(cursor.value + by, 0), Math.max(listed.value.length - 1, 0));
    document.querySelector("tr.here")?.scrollIntoView({ block: "nearest" });
  };
  const rerun = (of: Job) => attempt(async () => report("retry", await onIds("retry", [of.id])));
  const acts = new Map<string, () => void>([
    ["?", openHelp],
    ["g", () => go({ view: "overview" })],
    ["/", toFilter],
  ]);
  if (onList) acts.set("j", () => move(1)).set("k", () => move(-1));
  if (job !== undefined && onList) {
    const onControl = target.closest("a, button") !== null;
    if (!onControl) acts.set("Enter", () => go({ view: "job", id: job.id }));
    if (isAdmin()) acts.set("x", () => toggle(job.id));
  }
  if (job !== undefined && isAdmin() && verbs.retry.may(job)) {
    acts.set("r", () => void rerun(job));
  }
  const act = acts.get(event.key);
  if (act === undefined) return;
  event.preventDefault();
  act();
}

/** The job whose view is open. */
function shownJob(): Job | undefined {
  const { view, id } = place.value;
  return view === "job" ? listed.value.find((job) => job.id === id) : undefined;
}

function openHelp(): void {
  help.value = true;
}

/** At once where the list is there: what is typed next belongs into the field. */
function toFilter(): void {
  const focus = () => document.getElementById("filter-kind")?.focus();
  if (place.value.view === "jobs") {
    focus();
  } else {
    go({ view: "jobs" });
    setTimeout(focus, 0);
  }
}

const root = document.getElementById("root");
if (root) render(<App />, root);
