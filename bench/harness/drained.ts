import type { Drained } from "./drain.ts";
import { type Figure, figure } from "./figures.ts";

/** What every drain is told by: its rate, its CPU time and its memory. */
export function drainedFigures(drained: Drained, limitMs: number): Figure[] {
  const { jobs, seconds, consumerCpuSeconds, serverCpuSeconds, peakMb } = drained;
  const note = noteOf(drained, limitMs);
  const perJob = (cpuSeconds: number): number => (cpuSeconds / jobs) * 1e6;
  return [
    figure("rate", "jobs/s", "more", jobs / seconds, note),
    figure("CPU of the consumers", "µs a job", "less", perJob(consumerCpuSeconds)),
    ...(serverCpuSeconds === undefined
      ? []
      : [figure("CPU of the database", "µs a job", "less", perJob(serverCpuSeconds))]),
    figure("resident memory, at most", "MB", "less", peakMb),
    figure("from connecting to the first job", "ms", "less", drained.startSeconds * 1_000),
  ];
}

function noteOf({ cut, jobs, allInHand }: Drained, limitMs: number): string | undefined {
  if (cut) return `ended after ${limitMs / 1_000} s, ${jobs} jobs`;
  return allInHand ? "all jobs were in hand at the start" : undefined;
}
