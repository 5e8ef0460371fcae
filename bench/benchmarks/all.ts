import type { Benchmark } from "../harness/benchmark.ts";
import { backlog } from "./backlog.ts";
import { coldDrain } from "./cold-drain.ts";
import { delayedJobs, priorities } from "./delayed.ts";
import { drain } from "./drain.ts";
import { enqueue } from "./enqueue.ts";
import { holds } from "./holds.ts";
import { idle } from "./idle.ts";
import { manyKinds } from "./kinds.ts";
import { latency } from "./latency.ts";
import { status } from "./status.ts";
import { sustained } from "./sustained.ts";
import { xmin } from "./xmin.ts";

/** In the order in which they are measured and reported. */
export const benchmarks: readonly Benchmark[] = [
  enqueue,
  drain,
  latency,
  backlog,
  delayedJobs,
  priorities,
  manyKinds,
  idle,
  status,
  holds,
  coldDrain,
  xmin,
  sustained,
];
