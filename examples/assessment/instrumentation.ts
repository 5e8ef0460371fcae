/** Before the first request: the application's table, and the services that stand in for others'. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  if (!process.env.DATABASE_URL) {
    throw new Error("There is no DATABASE_URL: start this with `npm run dev` or `npm start`");
  }
  const { startOutside } = await import("./outside/server");
  process.env.OUTSIDE_URL ??= await startOutside();
  const { createTable } = await import("./lib/assessments");
  await createTable();
}
