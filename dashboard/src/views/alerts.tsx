import { isAdmin, post } from "../api.ts";
import { count } from "../format.ts";
import { askAgain, useAsked } from "../live.ts";
import { attempt, tell } from "../parts/act.ts";
import { Ago, JobLink, Nothing, Stale, To } from "../parts/basics.tsx";
import { Tree } from "../parts/tree.tsx";
import { place } from "../route.ts";
import type { Alert } from "../types.ts";

export function AlertsView() {
  const open = place.value.all ? "" : "1";
  const before = place.value.before ?? "";
  const { data, error } = useAsked<{ alerts: readonly Alert[]; next: number | null }>(
    "alerts",
    { open, before },
    5_000,
  );
  if (data === undefined) return <Nothing error={error} />;
  const unseen = data.alerts.filter(({ acknowledged_at }) => acknowledged_at === null);
  return (
    <>
      <Stale error={error} />
      <h1>Alerts</h1>
      <div class="row between">
        <nav class="tabs" aria-label="Which alerts">
          <To to={{ view: "alerts" }} {...(open && { "aria-current": "true" as const })}>
            open
          </To>
          <To to={{ view: "alerts", all: "1" }} {...(!open && { "aria-current": "true" as const })}>
            all
          </To>
        </nav>
        {isAdmin() && unseen.length > 1 && (
          <button type="button" onClick={() => void acknowledge(unseen.map(({ id }) => id))}>
            Acknowledge these {unseen.length}
          </button>
        )}
      </div>
      {data.alerts.length === 0 && (
        <p class="empty">{open ? "No alert is open." : "There was no alert."}</p>
      )}
      {data.alerts.map((alert) => (
        <article key={alert.id} class={`card alert ${alert.severity}`}>
          <div class="row between">
            <b>
              {alert.severity} · <code>{alert.code}</code>
            </b>
            <Ago at={alert.at} />
          </div>
          <p class="text">{alert.message}</p>
          {alert.job_id !== null && (
            <p>
              <JobLink id={alert.job_id}>The job</JobLink>
            </p>
          )}
          {Object.keys((alert.detail ?? {}) as object).length > 0 && (
            <Tree value={alert.detail} depth={3} />
          )}
          <div class="row between faint">
            <span>
              {alert.told_at === null ? (
                "No hook was told"
              ) : (
                <>
                  A hook was told <Ago at={alert.told_at} />
                </>
              )}
              {alert.acknowledged_at !== null && (
                <>
                  {" · "}acknowledged <Ago at={alert.acknowledged_at} />
                  {alert.acknowledged_by !== null && ` by ${alert.acknowledged_by}`}
                </>
              )}
            </span>
            {isAdmin() && alert.acknowledged_at === null && (
              <button type="button" onClick={() => void acknowledge([alert.id])}>
                Acknowledge
              </button>
            )}
          </div>
        </article>
      ))}
      <div class="row end">
        {before && <To to={{ ...place.value, before: "" }}>Newest</To>}
        {data.next !== null && <To to={{ ...place.value, before: String(data.next) }}>Older</To>}
      </div>
    </>
  );
}

function acknowledge(ids: readonly number[]): Promise<void> {
  return attempt(async () => {
    const { acknowledged } = await post<{ acknowledged: number }>({ action: "acknowledge", ids });
    tell(
      acknowledged > 0
        ? `${count(acknowledged)} acknowledged.`
        : "Somebody was faster: nothing was open any more.",
      { bad: acknowledged === 0 },
    );
    askAgain();
  });
}
