import { createLeasehold, type Duration, defineJob, handle, silentLogger } from "leasehold";
import { pg } from "leasehold/pg";
import type { Figure } from "./figures.ts";
import type { Place } from "./place.ts";
import { type JobProcess, pause, startProcess, until } from "./processes.ts";

/** One job in the hand of a process that is then killed. */
interface Killed {
  readonly id: string;
  readonly killedAt: number;
  /** When the lease ended that it left behind. */
  readonly leaseUntil: number;
}

/** How far apart the processes are killed: each round for itself, and all within one lease. */
const apartMs = 300;

const settingsText = (lease: Duration | undefined): string => `lease ${lease ?? "5m (default)"}`;

/** Workers are killed with a job in hand; another one, idle, takes it. */
export async function workersKilled(place: Place, rounds: number, lease?: Duration) {
  const kind = `killed_${lease ?? "default"}`;
  const own = { url: place.url, kind, ...(lease !== undefined && { lease }) };
  const killed = await killAt(place, kind, rounds, () =>
    startProcess({ ...own, work: { concurrency: 1 } }),
  );
  const other = startProcess(own);
  const figures = await again(await killed(), async (id) =>
    until(() => other.began.find((job) => job.id === id)?.at, "another worker takes it"),
  );
  other.kill();
  return named(
    figures,
    "worker killed → its job runs elsewhere",
    `${settingsText(lease)}, an idle worker`,
  );
}

/** The same with nobody there but one who asks for the job's status. */
export async function workersKilledPolled(place: Place, rounds: number, lease: Duration) {
  const kind = "killed_polled";
  const own = { url: place.url, kind, lease, work: { concurrency: 1 } };
  const killed = await killAt(place, kind, rounds, () => startProcess(own));
  const everyMs = 1_000;
  const figures = await again(await killed(), async (id) => {
    while ((await place.status(id)) === "running") await pause(everyMs);
    return Date.now();
  });
  return named(
    figures,
    "worker killed → `status` says so, no worker there",
    `${settingsText(lease)}, status asked every ${everyMs} ms`,
  );
}

/** Drains are killed with a job in hand; others follow, as a cron starts them. */
export async function drainsKilled(place: Place, rounds: number, lease?: Duration) {
  const kind = `drained_${lease ?? "default"}`;
  const drain = { budget: "20s", reserve: "5s" } as const;
  const own = { url: place.url, kind, drain, ...(lease !== undefined && { lease }) };
  const killed = await killAt(place, kind, rounds, () => startProcess(own));
  const taken = new Map<string, number>();
  const stop = drainEachSecond(place, kind, (id) => taken.set(id, Date.now()));
  const figures = await again(await killed(), (id) =>
    until(() => taken.get(id), "a drain takes it"),
  );
  await stop();
  const settings = `${settingsText(lease)}, budget 20 s + reserve 5 s, a drain each second`;
  return named(figures, "drain killed → its job runs in the next", settings);
}

/** In this process: one that starts would measure how long that takes. */
function drainEachSecond(place: Place, kind: string, began: (id: string) => void) {
  const run = handle(defineJob(kind), ({ id }) => began(id));
  const leasehold = createLeasehold({
    database: pg(place.url),
    handlers: [run],
    logger: silentLogger,
  });
  let over = false;
  const drains = (async () => {
    for (; !over; await pause(1_000)) await leasehold.drain({ budget: "20s", reserve: "5s" });
  })();
  return async (): Promise<void> => {
    over = true;
    await drains;
    await leasehold.close();
  };
}

/** Starts processes until each has one job in hand; the answer kills them, one after the other. */
async function killAt(place: Place, kind: string, rounds: number, start: () => JobProcess) {
  const ids = await Promise.all(Array.from({ length: rounds }, () => place.enqueue(kind, "hold")));
  const processes = ids.map(start);
  await until(() => processes.every(({ began }) => began.length > 0), "a job in each hand");
  return async (): Promise<Killed[]> => {
    const killed: Killed[] = [];
    for (const each of processes) {
      const id = each.began[0]?.id ?? "";
      const killedAt = each.kill();
      killed.push({ id, killedAt, leaseUntil: await place.time(id, "lease_until") });
      await pause(apartMs);
    }
    return killed;
  };
}

interface Parts {
  readonly wholeMs: number[];
  readonly afterLeaseMs: number[];
}

/** How long each took, in all, and counted from the end of the lease that it left. */
async function again(killed: Killed[], taken: (id: string) => Promise<number>): Promise<Parts> {
  const ends = await Promise.all(
    killed.map(async (each) => ({ ...each, at: await taken(each.id) })),
  );
  return {
    wholeMs: ends.map(({ at, killedAt }) => at - killedAt),
    afterLeaseMs: ends.map(({ at, leaseUntil }) => at - leaseUntil),
  };
}

function named({ wholeMs, afterLeaseMs }: Parts, what: string, settings: string): Figure[] {
  return [
    { what, with: settings, roundsMs: wholeMs },
    { what: "… of it after the lease's end", with: settings, roundsMs: afterLeaseMs },
  ];
}
