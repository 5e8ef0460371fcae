import type { Measured } from "./figures.ts";
import type { Place } from "./place.ts";

/** Something that is measured, of each contender in turn. */
export interface Benchmark {
  /** As `--only` and a contender's `cannot` name it. */
  readonly name: string;
  readonly title: string;
  /** What is measured and how, for the report: what is counted, what is thrown away. */
  readonly about: string;
  readonly cases: readonly Case[];
  /** Only with `--long`, and of leasehold and the two fastest rivals. */
  readonly long?: boolean;
  /** Only these contenders, where leasehold is among the chosen. */
  readonly contenders?: readonly string[];
  /** Rounds at the most: where one takes minutes, or is a median of many itself. */
  readonly maxRounds?: number;
  /** One round is enough in a quick run, whose time goes to the others. */
  readonly once?: boolean;
}

/** One row of a benchmark's table. */
export interface Case {
  readonly name: string;
  /** Takes a minute or more: left out of a quick run. */
  readonly heavy?: boolean;
  /** In a fresh database, in which nothing is prepared. Throws where something was lost or ran twice. */
  measure(place: Place): Promise<Measured>;
}
