/** Installs the schema in an embedded database; begins a worker where WORKER says so. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== "nodejs") return;
  const { leasehold } = await import("./lib/leasehold");
  if (process.env.PGLITE_FOLDER) {
    const { migrate } = await import("leasehold/schema");
    await migrate(leasehold.database);
  }
  if (process.env.WORKER) leasehold.work({ kinds: ["hooked"] });
}
