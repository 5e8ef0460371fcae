import type { AppDatabase } from "./database.ts";

/** Gives `user` points, under a reference that is drawn by lot. */
export async function grant(database: AppDatabase, user: string, points: number): Promise<void> {
  const sql = "select leasehold.grant_credits($1, $2, gen_random_uuid()::text)";
  await database.query(sql, [user, points]);
}

/** What became of the points of `user`, the oldest first. */
export async function entriesOf(database: AppDatabase, user: string): Promise<string[]> {
  const sql = "select kind from leasehold.entries where account = $1 order by id";
  return (await database.query(sql, [user])).map(({ kind }) => kind);
}

export async function creditsOf(
  database: AppDatabase,
  user: string,
): Promise<{ available: number; held: number }> {
  const [row] = await database.query("select leasehold.credits($1) as credits", [user]);
  const { available, held } = row?.credits ?? {};
  return { available, held };
}

/** The jobs of `user`, the oldest first. */
// biome-ignore lint/suspicious/noExplicitAny: rows of any query.
export function jobsOf(database: AppDatabase, user: string): Promise<Record<string, any>[]> {
  return database.query("select * from leasehold.jobs where owner = $1 order by id", [user]);
}

/** What does not balance in the books; nothing should. */
export async function violations(database: AppDatabase): Promise<unknown[]> {
  const [row] = await database.query("select leasehold.verify_credits() as check");
  return row?.check.violations;
}
