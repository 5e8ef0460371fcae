/**
 * A prefix such as 20301231235959, in UTC: now, but behind every name that there is, since migrations
 * are applied in the order of their names and a clock may be wrong.
 */
export function nextStamp(names: readonly string[], now: Date): string {
  const newest = names.map((name) => timeOf(name)).reduce((most, each) => Math.max(most, each), 0);
  return stamp(new Date(Math.max(now.getTime(), newest + 1_000)));
}

/** Drizzle numbers its migrations, unless its configuration asks for timestamps. */
export function nextDrizzlePrefix(names: readonly string[], now: Date): string {
  const newest = names.filter((name) => /^\d+_.*\.sql$/.test(name)).at(-1);
  if (newest !== undefined && /^\d{14}_/.test(newest)) return nextStamp(names, now);
  const numbers = names.map((name) => Number(/^(\d{4})_.*\.sql$/.exec(name)?.[1] ?? -1));
  return String(Math.max(-1, ...numbers) + 1).padStart(4, "0");
}

function timeOf(name: string): number {
  const [, year, month, day, hour, minute, second] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?!\d)/.exec(name) ?? [];
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? 0 : time;
}

function stamp(time: Date): string {
  return time.toISOString().replace(/\D/g, "").slice(0, 14);
}
