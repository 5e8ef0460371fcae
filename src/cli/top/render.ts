import type { KindStats } from "../../kind-stats.ts";
import type { WorkerRow } from "../commands/workers.ts";
import { count, readableDuration, readableTime } from "../readable.ts";
import { type Column, formatTable } from "../table.ts";
import { cutToWidth, oneLine } from "../text-width.ts";
import type { RunningJob, TopState } from "./state.ts";

/** The size of what is drawn, in columns and lines of a terminal. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** One part of the screen: its rows under their titles, of which some may have to be left out. */
interface Section {
  readonly rows: number;
  /** What stands there when there is no row. */
  readonly nothing: string;
  /** The table of the first rows. */
  table(rows: number): string;
}

/** No cell may push the others off the screen. */
const widestName = 24;
const widestKey = 40;

/** A state in lines that are no wider and no more than `size` says, and above it what is wrong. */
export function renderTop(state: TopState, size: Size, wrong = ""): string[] {
  const running = state.kinds.reduce((sum, kind) => sum + kind.running, 0);
  const counts = [
    count(state.kinds.length, "kind"),
    count(state.workers.length, "worker"),
    `${running} running`,
  ];
  const head = `${readableTime(state.at)}  ${counts.join(", ")}`;
  const sections = [kindsSection(state.kinds), workersSection(state), jobsSection(state, running)];
  const shares = shareOut(
    sections.map(({ rows }) => Math.max(rows, 1) + 2),
    size.height - 1,
  );
  // What is wrong stands in the blank line above the first section: nothing moves for it.
  const [, ...lines] = sections.flatMap((section, i) => linesOf(section, shares[i] ?? 0));
  return [head, oneLine(wrong), ...lines]
    .slice(0, size.height)
    .map((line) => cutToWidth(line, size.width));
}

function kindsSection(kinds: readonly KindStats[]): Section {
  const columns: readonly Column<KindStats>[] = [
    ["KIND", (row) => short(row.kind)],
    ["QUEUED", (row) => row.queued],
    ["DUE", (row) => row.due],
    ["WAIT", (row) => (row.oldest_due_ms === null ? null : readableDuration(row.oldest_due_ms))],
    ["RUNNING", (row) => row.running],
    ["EXPIRED", (row) => row.expired || null],
    ["DONE", (row) => row.completed],
    ["FAILED", (row) => row.failed],
    ["CANCELLED", (row) => row.cancelled || null],
    ["PAUSED", (row) => (row.paused ? "paused" : null)],
  ];
  return section("No jobs.", columns, kinds);
}

function workersSection({ at, workers }: TopState): Section {
  const columns: readonly Column<WorkerRow>[] = [
    ["WORKER", (row) => short(row.name)],
    ["RUNNING", (row) => `${row.running}/${row.concurrency}`],
    ["UP", (row) => between(row.started_at, at)],
    ["IDLE", (row) => between(row.idle_since, at)],
    ["SEEN", (row) => between(row.seen_at, at)],
    ["HEARS BY", (row) => (row.listening ? "listening" : "polling")],
    ["KINDS", (row) => row.kinds.join(", ")],
  ];
  return section("No workers.", columns, workers);
}

function jobsSection({ at, jobs }: TopState, all: number): Section {
  const columns: readonly Column<RunningJob>[] = [
    ["RUNNING", (row) => short(row.kind)],
    ["ATTEMPT", (row) => `${row.attempts}/${row.max_attempts}`],
    ["FOR", (row) => between(row.claimed_at, at)],
    ["LEASE LEFT", (row) => between(at, row.lease_until) ?? "ran out"],
    ["WORKER", (row) => short(row.worker)],
    ["", (row) => (row.cancel_requested ? "cancelling" : null)],
    ["KEY", (row) => short(row.key, widestKey)],
    ["ID", (row) => row.id],
  ];
  const rows = jobs.length === 0 ? 0 : Math.max(all, jobs.length);
  return { ...section("Nothing is running.", columns, jobs), rows };
}

function section<Row>(
  nothing: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Section {
  return {
    rows: rows.length,
    nothing,
    table: (shown) => formatTable(columns, rows.slice(0, shown)),
  };
}

/** A blank line, the titles and the rows; where they are more than fit, how many more there are. */
function linesOf({ rows, nothing, table }: Section, lines: number): string[] {
  if (rows === 0) return ["", nothing].slice(0, lines);
  const fit = lines - 2;
  const shown = rows <= fit ? rows : fit - 1;
  if (shown <= 0) return ["", `… ${rows} more`].slice(0, Math.max(lines, 0));
  const drawn = table(shown).split("\n");
  const more = rows - (drawn.length - 1);
  return ["", ...drawn, ...(more > 0 ? [`… and ${more} more`] : [])];
}

/**
 * Shares lines out: who wants less than an even share gets all, and what is left over the others
 * share.
 */
function shareOut(wanted: readonly number[], lines: number): number[] {
  const shares = wanted.map(() => 0);
  const modestFirst = wanted.map((_, i) => i).sort((a, b) => (wanted[a] ?? 0) - (wanted[b] ?? 0));
  let left = Math.max(lines, 0);
  for (const [n, i] of modestFirst.entries()) {
    shares[i] = Math.min(wanted[i] ?? 0, Math.floor(left / (wanted.length - n)));
    left -= shares[i] ?? 0;
  }
  return shares;
}

function short(text: string | null, columns = widestName): string | null {
  return text === null ? null : cutToWidth(oneLine(text), columns);
}

/** How long it is from one time to another; null where there is none, or it is the other way. */
function between(from: string | null, to: string): string | null {
  if (from === null) return null;
  const ms = Date.parse(to) - Date.parse(from);
  return ms < 0 ? null : readableDuration(ms);
}
