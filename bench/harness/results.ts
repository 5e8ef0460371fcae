import type { Figure, Series } from "./figures.ts";
import type { Machine } from "./machine.ts";

/** All that a run came to, as its file in results/ holds it. */
export interface Results {
  readonly format: 1;
  readonly title: string;
  readonly startedAt: string;
  finishedAt: string;
  /** What the command was told. */
  readonly options: Readonly<Record<string, string | number | boolean>>;
  readonly machine: Machine;
  readonly loadBefore: readonly number[];
  loadAfter: readonly number[];
  readonly node: string;
  readonly postgres: {
    readonly version: string;
    readonly settings: Readonly<Record<string, string>>;
  };
  readonly redis: string | null;
  readonly contenders: readonly ContenderNote[];
  readonly benchmarks: BenchmarkResults[];
  /** What was not measured, and why. */
  readonly omitted: Omission[];
  /** What failed: no figure stands for it. */
  readonly failed: Omission[];
}

export interface ContenderNote {
  readonly name: string;
  readonly settings: string;
  readonly versions: Readonly<Record<string, string>>;
}

export interface BenchmarkResults {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly cases: CaseResults[];
}

export interface CaseResults {
  readonly name: string;
  readonly measured: ContenderResults[];
}

export interface ContenderResults {
  readonly contender: string;
  /** The figures of each round. */
  readonly rounds: (readonly Figure[])[];
  /** Of the last round. */
  series: readonly Series[];
}

export interface Omission {
  readonly benchmark: string;
  readonly case: string;
  readonly contender: string;
  readonly reason: string;
}
