/** What the page shows while it waits. Types alone: client components import them. */
export interface Progress {
  readonly address: string;
  readonly percent: number;
  readonly step: string;
}

/** What one of the outside services says. Scores go from 0 to 100, and more is safer. */
export interface Check {
  readonly name: "flood" | "crime" | "traffic";
  readonly score: number;
  readonly note: string;
}

/** The result of the job. */
export interface Report {
  readonly address: string;
  readonly score: number;
  readonly verdict: string;
  readonly checks: readonly Check[];
  /** How often the tile server has served the map tile that the checks share. */
  readonly tileServed: number;
}
