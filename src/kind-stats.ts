/** What SQL's stats answers of one kind. */
export interface KindStats {
  readonly kind: string;
  readonly paused: boolean;
  readonly queued: number;
  readonly due: number;
  readonly running: number;
  readonly expired: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly oldest_due_ms: number | null;
}
