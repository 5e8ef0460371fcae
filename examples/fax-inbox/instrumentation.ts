/** Before the first request: the application's own tables. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  if (!process.env.DATABASE_URL) {
    throw new Error("There is no DATABASE_URL: start this with `npm run dev` or `npm start`");
  }
  const { migrate } = await import("./lib/migrate.ts");
  await migrate();
}
