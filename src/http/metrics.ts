import { answer, Failure } from "../http-answer.ts";
import type { KindStats } from "../kind-stats.ts";
import { callerOf } from "./caller.ts";
import type { Door } from "./door.ts";
import { bringsSecret } from "./secret.ts";

const statuses = ["queued", "running", "completed", "failed", "cancelled"] as const;

/** `GET /metrics`: the queue in numbers, in the text format of Prometheus. It counts every row. */
export async function showMetrics(door: Door, request: Request): Promise<Response> {
  await requireReader(door, request);
  const { database } = door.settings.leasehold;
  const stats = (await door.ask(database.call("stats", {}))) as Kinds<KindStats>;
  const lapses = (await door.ask(database.call("measures", {}))) as Kinds<KindLapses>;
  return answer(200, metricsText(stats.kinds, lapses.kinds), {
    "content-type": "text/plain; version=0.0.4; charset=utf-8",
  });
}

async function requireReader({ settings }: Door, request: Request): Promise<void> {
  if (await bringsSecret(request, settings.secret())) return;
  if ((await settings.metrics(request)) === true) return;
  const caller = await callerOf(settings.authorize, request);
  if (!caller.admin) throw new Failure(403, "FORBIDDEN", "Only an admin may read this.");
}

interface Kinds<Of> {
  readonly kinds: readonly Of[];
}

/** What went wrong with the leases of a kind in the hour before, as `measures` tells it. */
interface KindLapses {
  readonly kind: string;
  readonly lease_expiries: number;
  readonly refused_writes: number;
}

/** The gauges of all kinds. */
export function metricsText(kinds: readonly KindStats[], lapses: readonly KindLapses[]): string {
  const jobs = kinds.flatMap((stats) =>
    statuses.map((status) => sample("jobs", { kind: stats.kind, status }, stats[status])),
  );
  const gauge = (name: string, value: (stats: KindStats) => number) =>
    kinds.map((stats) => sample(name, { kind: stats.kind }, value(stats)));
  return [
    ...described("jobs", "Jobs by kind and status.", jobs),
    ...described(
      "jobs_due",
      "Queued jobs that may run now.",
      gauge("jobs_due", (of) => of.due),
    ),
    ...described(
      "jobs_expired",
      "Jobs past their lease or start_by that nobody has reaped yet.",
      gauge("jobs_expired", (of) => of.expired),
    ),
    ...described(
      "oldest_due_seconds",
      "How long the oldest due job has been waiting.",
      gauge("oldest_due_seconds", (of) => (of.oldest_due_ms ?? 0) / 1_000),
    ),
    ...described(
      "kind_paused",
      "1 while the kind is paused.",
      gauge("kind_paused", (of) => Number(of.paused)),
    ),
    ...described(
      "lease_expiries_last_hour",
      "Leases that ran out in the hour before, whose jobs were taken back.",
      lapses.map((of) => sample("lease_expiries_last_hour", { kind: of.kind }, of.lease_expiries)),
    ),
    ...described(
      "refused_writes_last_hour",
      "Writes in the hour before of claims that were not valid any more.",
      lapses.map((of) => sample("refused_writes_last_hour", { kind: of.kind }, of.refused_writes)),
    ),
    "",
  ].join("\n");
}

function described(name: string, help: string, samples: readonly string[]): string[] {
  return [`# HELP leasehold_${name} ${help}`, `# TYPE leasehold_${name} gauge`, ...samples];
}

function sample(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `leasehold_${name}{${pairs.join(",")}} ${value}`;
}

function escaped(label: string): string {
  return label.replace(/\\/g, "\\\\").replace(/"/g, '\\"').replace(/\n/g, "\\n");
}
