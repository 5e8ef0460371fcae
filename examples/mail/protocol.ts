import type { Timing } from "./timing.ts";

/** What a worker is told first. */
export interface WorkerSettings {
  readonly name: string;
  readonly provider: string;
  readonly storage: string;
  readonly timing: Timing;
  readonly database: WorkerDatabase;
}

/** How a worker reaches the database. The URL itself, which may hold a password, is in DATABASE_URL. */
export type WorkerDatabase =
  | { readonly at: "socket"; readonly path: string }
  | { readonly at: "server"; readonly schema: string; readonly mailSchema: string };

/** What a worker tells the demo while it works. */
export type WorkerReport =
  | (OfClaim & { readonly type: "started"; readonly attempt: number })
  | (OfClaim & { readonly type: "stored"; readonly index: number })
  /** An earlier attempt had stored it. */
  | (OfClaim & { readonly type: "kept"; readonly index: number })
  | (OfClaim & {
      readonly type: "ended";
      readonly outcome: "completed" | "retried" | "failed" | "released" | "lost";
      /** Why, where it did not complete. */
      readonly code?: string;
      readonly durationMs: number;
    })
  /** What the database said to a write under a claim that is not valid any more. */
  | (OfClaim & { readonly type: "stale"; readonly write: string; readonly refused: boolean })
  | { readonly type: "drained"; readonly jobs: number; readonly reason: string }
  /** The database could not be asked; leasehold goes on trying. */
  | { readonly type: "trouble"; readonly text: string };

interface OfClaim {
  readonly messageId: string;
  readonly generation: number;
}

/** What a worker is told last: to give its job back, if it has one, and to end. */
export const stopMessage = "stop";
