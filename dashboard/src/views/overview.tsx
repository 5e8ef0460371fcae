import { count, duration } from "../format.ts";
import { useAsked } from "../live.ts";
import { Ago, Nothing, Stale, Tile, To } from "../parts/basics.tsx";
import { EndedChart } from "../parts/chart.tsx";
import { Tree } from "../parts/tree.tsx";
import { place } from "../route.ts";
import type { Overview } from "../types.ts";

const periods: readonly [string, number][] = [
  ["1 h", 3_600_000],
  ["24 h", 86_400_000],
  ["7 d", 604_800_000],
];

export function OverviewView() {
  const period = place.value.period ?? "86400000";
  const { data, error } = useAsked<Overview>("overview", { period_ms: period });
  if (data === undefined) return <Nothing error={error} />;
  const within = periods.find(([, ms]) => String(ms) === period)?.[0] ?? duration(Number(period));
  return (
    <>
      <Stale error={error} />
      <h1>Overview</h1>
      <div class="tiles">
        <Tile
          label="due"
          value={count(data.due, data.limit)}
          to={{ view: "jobs", status: "queued" }}
        />
        <Tile
          label="oldest due"
          value={duration(data.oldest_due_ms)}
          tone={(data.oldest_due_ms ?? 0) > 300_000 ? "warn" : ""}
        />
        <Tile
          label="waiting for its time"
          value={count(data.waiting, data.limit)}
          to={{ view: "jobs", status: "queued" }}
        />
        <Tile
          label="running"
          value={count(data.running, data.limit)}
          to={{ view: "jobs", status: "running" }}
        />
        <Tile
          label="past the lease"
          value={count(data.expired, data.limit)}
          tone={data.expired > 0 ? "warn" : ""}
        />
        <Tile
          label={`failed in ${within}`}
          value={count(data.failed, data.limit)}
          tone={data.failed > 0 ? "bad" : ""}
          to={{ view: "jobs", status: "failed" }}
        />
        <Tile label="workers" value={count(data.workers)} to={{ view: "workers" }} />
        <Tile
          label="open alerts"
          value={count(data.alerts.open)}
          tone={data.alerts.critical > 0 ? "bad" : data.alerts.open > 0 ? "warn" : ""}
          to={{ view: "alerts" }}
        />
      </div>
      {data.paused.length > 0 && (
        <p class="stale">
          Paused: {data.paused.join(", ")}. <To to={{ view: "kinds" }}>Kinds</To>
        </p>
      )}
      <section>
        <div class="row between">
          <h2>
            Completed and failed{data.ended.estimated && <span class="faint"> (estimated)</span>}
          </h2>
          <nav class="tabs" aria-label="Period">
            {periods.map(([label, ms]) => (
              <To
                key={label}
                to={{ ...place.value, period: String(ms) }}
                {...(String(ms) === period && { "aria-current": "true" as const })}
              >
                {label}
              </To>
            ))}
          </nav>
        </div>
        <EndedChart key={period} ended={data.ended} />
      </section>
      <section>
        <h2>Last drains</h2>
        {data.drains.length === 0 && <p class="empty">No drain was told of yet.</p>}
        {data.drains.map(({ trigger, at, report }) => (
          <details key={trigger} class="card">
            <summary>
              <b>{trigger}</b> <Ago at={at} />
            </summary>
            <Tree value={report} />
          </details>
        ))}
      </section>
    </>
  );
}
