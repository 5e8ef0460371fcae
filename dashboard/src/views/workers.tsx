import { count } from "../format.ts";
import { useAsked } from "../live.ts";
import { Ago, Nothing, Stale, To } from "../parts/basics.tsx";
import type { Worker } from "../types.ts";

export function WorkersView() {
  const { data, error } = useAsked<{ workers: readonly Worker[] }>("workers");
  if (data === undefined) return <Nothing error={error} />;
  return (
    <>
      <Stale error={error} />
      <h1>Workers</h1>
      {data.workers.length === 0 ? (
        <p class="empty">
          No long-running worker is alive. Drains and starts in a request are none.
        </p>
      ) : (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Worker</th>
                <th>Jobs in hand</th>
                <th>Kinds</th>
                <th>State</th>
                <th>Started</th>
                <th>Last heard of</th>
              </tr>
            </thead>
            <tbody>
              {data.workers.map((worker) => (
                <tr key={worker.id}>
                  <td class="text">{worker.name}</td>
                  <td>
                    {count(worker.running)} of {count(worker.concurrency)}
                  </td>
                  <td class="text">
                    {worker.kinds.slice(0, 20).map((kind) => (
                      <To key={kind} class="kind" to={{ view: "jobs", kind, status: "running" }}>
                        {kind}
                      </To>
                    ))}
                    {worker.kinds.length > 20 && (
                      <span class="faint"> and {worker.kinds.length - 20} more</span>
                    )}
                  </td>
                  <td>
                    {worker.idle ? (
                      <>
                        idle, <Ago at={worker.idle_since} />
                      </>
                    ) : (
                      "at work"
                    )}
                    <div class="faint">{worker.listening ? "listens" : "polls"}</div>
                  </td>
                  <td>
                    <Ago at={worker.started_at} />
                  </td>
                  <td>
                    <Ago at={worker.seen_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
