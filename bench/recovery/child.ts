/**
 * A process that runs jobs, to be killed or to be watched: a worker, or one drain. It tells its parent
 * of each job that it begins. Argument: its settings, as JSON.
 */
import { createLeasehold, type Duration, defineJob, handle, silentLogger } from "leasehold";
import { pg } from "leasehold/pg";
import { postgres } from "leasehold/postgres";

export interface ChildSettings {
  readonly url: string;
  readonly driver?: "pg" | "postgres";
  /** Where its one listening connection goes, if not to `url`. */
  readonly listen?: string;
  readonly kind: string;
  /** The lease of that kind. */
  readonly lease?: Duration;
  /** Options of `work`. */
  readonly work?: { readonly concurrency?: number };
  /** Options of `drain`, which then takes the place of `work`. */
  readonly drain?: { readonly budget: Duration; readonly reserve: Duration };
}

process.on("disconnect", () => process.exit()); // nothing outlives its parent

const settings = JSON.parse(process.argv[2] ?? "{}") as ChildSettings;
const { url, driver = "pg", kind, listen } = settings;
const open = driver === "pg" ? pg : postgres;
const tell = (message: object): void => void process.send?.(message);

const job = defineJob(kind, settings.lease === undefined ? {} : { lease: settings.lease });
const run = handle(job, async ({ id, generation, payload }) => {
  tell({ began: { id, generation, at: Date.now() } });
  // Held by the first claim alone: whoever takes it after the kill is done with it at once.
  if (payload === "hold" && generation === 1)
    await new Promise(() => setInterval(() => {}, 60_000));
});
const database = open(url, listen === undefined ? {} : { listen });
const leasehold = createLeasehold({ database, handlers: [run], logger: silentLogger });

if (settings.drain) await leasehold.drain(settings.drain);
else {
  const worker = leasehold.work(settings.work);
  let listening = false;
  setInterval(() => {
    if (worker.health().listening === listening) return;
    listening = !listening;
    tell({ listens: { listening, at: Date.now() } });
  }, 5);
}
