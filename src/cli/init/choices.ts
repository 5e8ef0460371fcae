/** What the person, or the command line, has decided. */
export interface Choices {
  readonly schema: string;
  /** The schedule of an entry in vercel.json; undefined: none is wanted. */
  readonly vercelCron: string | undefined;
  /** Migrations are named for it. */
  readonly now: Date;
}
