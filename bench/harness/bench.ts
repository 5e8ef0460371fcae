import type { NodeCommand } from "./node.ts";
import type { BenchServer } from "./server.ts";

/** What all measurements of a run have in common. */
export interface Bench {
  readonly server: BenchServer;
  readonly node: NodeCommand;
  /** For the children, beside this process's own: where the Redis is. */
  readonly env: Record<string, string>;
  /** What the database servers have used so far; undefined where it can't be known. */
  cpuSeconds(): number | undefined;
  /** All counts are multiplied by it: 1, or less for a trial. */
  readonly scale: number;
  /** A drain is ended after so long. */
  readonly limitMs: number;
  /** What takes longer to prepare is left out. */
  readonly fillLimitMs: number;
  /** How long the sustained load lasts. */
  readonly minutes: number;
}
