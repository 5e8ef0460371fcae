import { listing } from "../listing.ts";
import { readableDuration, readableTime } from "../readable.ts";
import type { Column } from "../table.ts";

/** What SQL's kinds answers of one kind. */
interface Kind {
  readonly kind: string;
  readonly paused_at: string | null;
  readonly workers: number;
  readonly max_attempts: number | null;
  readonly backoff_ms: readonly number[] | null;
  readonly lease_ms: number | null;
  readonly timeout_ms: number | null;
  readonly start_within_ms: number | null;
  readonly retain_ms: number | null;
}

const durationOrNothing = (ms: number | null): string | null =>
  ms === null ? null : readableDuration(ms);

const columns: readonly Column<Kind>[] = [
  ["WORKERS", (row) => row.workers],
  ["LEASE", (row) => durationOrNothing(row.lease_ms)],
  ["TIMEOUT", (row) => durationOrNothing(row.timeout_ms)],
  ["START WITHIN", (row) => durationOrNothing(row.start_within_ms)],
  ["ATTEMPTS", (row) => row.max_attempts],
  ["BACKOFF", (row) => row.backoff_ms?.map(readableDuration).join(", ")],
  ["RETAIN", (row) => durationOrNothing(row.retain_ms)],
  ["PAUSED SINCE", (row) => readableTime(row.paused_at)],
  ["KIND", (row) => row.kind],
];

export const kindsCommand = listing({
  name: "kinds",
  description: "Lists the kinds: who is paused, how many workers take it, its defaults",
  rows: "kinds",
  columns,
  nothing: "No kinds.",
});
