import { locale } from "./locale.ts";

const units: readonly [number, string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
  [1_000, "s"],
];

/** 95_000 → "1.6 min"; two figures are enough to see what it means. */
export function duration(ms: number | null | undefined): string {
  if (ms == null) return "–";
  for (const [size, unit] of units) {
    if (Math.abs(ms) >= size) {
      const value = ms / size;
      return `${Math.abs(value) < 10 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)} ${unit}`;
    }
  }
  return `${Math.round(ms)} ms`;
}

/** "3 min ago", "in 2 h". */
export function ago(iso: string | null, now: number): string {
  if (iso === null) return "–";
  const ms = now - Date.parse(iso);
  if (Math.abs(ms) < 1_000) return "now";
  return ms > 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`;
}

const local = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "medium" });
const clock = new Intl.DateTimeFormat(locale, { timeStyle: "medium" });

export function timeOfDay(iso: string): string {
  return clock.format(new Date(iso));
}

export function moment(iso: string | null): string {
  return iso === null ? "–" : local.format(new Date(iso));
}

const whole = new Intl.NumberFormat(locale);

/** A number; one that was counted no further says so. */
export function count(value: number, limit = Number.POSITIVE_INFINITY): string {
  return value >= limit ? `${whole.format(limit)}+` : whole.format(value);
}

export function signed(value: number): string {
  return value > 0 ? `+${whole.format(value)}` : whole.format(value);
}

/** The first and the last characters of an id: those in the middle tell nobody anything. */
export function shortId(id: string): string {
  return `${id.slice(0, 8)}…${id.slice(-4)}`;
}

/** As an argument of a POSIX shell. */
export function shell(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
