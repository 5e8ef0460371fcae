import { isAdmin, post } from "../api.ts";
import { count, duration } from "../format.ts";
import { askAgain, useAsked } from "../live.ts";
import { attempt, tell } from "../parts/act.ts";
import { Ago, Nothing, Stale, To } from "../parts/basics.tsx";
import { confirmed } from "../parts/dialog.tsx";
import type { Kind, Kinds, Timing } from "../types.ts";

/** Beyond this share of the lease a job that renews nothing is near to losing it. */
const nearShare = 0.8;

export function KindsView() {
  const { data, error } = useAsked<Kinds>("kinds", {}, 5_000);
  if (data === undefined) return <Nothing error={error} />;
  const timings = new Map(data.timings.map((timing) => [timing.kind, timing]));
  const names = new Set([...data.kinds.map(({ kind }) => kind), ...timings.keys()]);
  const kinds = new Map(data.kinds.map((kind) => [kind.kind, kind]));
  return (
    <>
      <Stale error={error} />
      <h1>Kinds</h1>
      {names.size === 0 && <p class="empty">No kind is known yet: enqueue a job.</p>}
      {names.size > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th>Kind</th>
                <th>Workers</th>
                <th>Ran (p50, p95)</th>
                <th>Lease</th>
                <th>Waited (p50, p95)</th>
                <th>Failed</th>
                <th>Last ended</th>
                {isAdmin() && <th />}
              </tr>
            </thead>
            <tbody>
              {[...names].sort().map((name) => (
                <Row key={name} name={name} kind={kinds.get(name)} timing={timings.get(name)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

function Row({
  name,
  kind,
  timing,
}: {
  name: string;
  kind: Kind | undefined;
  timing: Timing | undefined;
}) {
  const lease = timing?.lease_ms ?? kind?.lease_ms ?? null;
  const near = lease !== null && (timing?.run_p95_ms ?? 0) > lease * nearShare;
  const paused = kind?.paused_at != null;
  return (
    <tr>
      <td>
        <To to={{ view: "jobs", kind: name }}>{name}</To>
        {paused && <span class="badge cancelled">paused</span>}
      </td>
      <td>{count(kind?.workers ?? 0)}</td>
      <td>
        {duration(timing?.run_p50_ms)}, {duration(timing?.run_p95_ms)}
      </td>
      <td class={near ? "warn" : ""}>
        {duration(lease)}
        {near && (
          <div>95 of 100 runs take most of it: without renewals they would be taken for dead.</div>
        )}
      </td>
      <td>
        {duration(timing?.wait_p50_ms)}, {duration(timing?.wait_p95_ms)}
      </td>
      <td>
        {timing === undefined ? (
          "–"
        ) : (
          <To to={{ view: "jobs", kind: name, status: "failed" }}>
            {timing.failed} of {timing.sample}
          </To>
        )}
      </td>
      <td>
        <Ago at={timing?.last_finished_at ?? null} />
      </td>
      {isAdmin() && (
        <td>
          <button type="button" class="small" onClick={() => void pauseOrResume(name, paused)}>
            {paused ? "Resume" : "Pause"}
          </button>
        </td>
      )}
    </tr>
  );
}

function pauseOrResume(kind: string, paused: boolean): Promise<void> {
  return attempt(async () => {
    const sure =
      paused ||
      (await confirmed({
        title: `Pause ${kind}?`,
        text: "No job of this kind is claimed any more; those that run go on.",
        button: "Pause",
        jobs: 1,
      }));
    if (!sure) return;
    const { changed } = await post<{ changed: boolean }>({
      action: paused ? "resume" : "pause",
      kind,
    });
    const now = paused ? "resumed" : "paused";
    tell(changed ? `${kind} is ${now}.` : `${kind} was ${now} already.`, { bad: !changed });
    askAgain();
  });
}
