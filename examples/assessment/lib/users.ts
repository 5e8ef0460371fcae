export interface User {
  /** Also the owner of their jobs and the account of their points. */
  readonly id: string;
  readonly name: string;
  /** What they are given once, at their first visit. */
  readonly points: number;
}

export const users: readonly User[] = [
  { id: "ann", name: "Ann", points: 3 },
  { id: "ben", name: "Ben", points: 1 },
];
