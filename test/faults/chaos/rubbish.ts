/** What a handler should not return or throw, and what must do no harm. */
export const rubbish = {
  cycle() {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    return cycle;
  },
  bigInt: () => ({ amount: 10n }),
  /** PostgreSQL's jsonb can't hold it. */
  nul: () => "a\u0000b",
  surrogate: () => "\ud800",
  huge: () => "x".repeat(1_100_000),
  throwsCycle(): never {
    throw rubbish.cycle();
  },
  throwsNul(): never {
    throw new Error("a\u0000b", { cause: rubbish.cycle() });
  },
} as const;

export type Rubbish = keyof typeof rubbish;

export const rubbishNames = Object.keys(rubbish) as Rubbish[];
