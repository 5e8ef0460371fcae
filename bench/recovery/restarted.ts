import type { Figure } from "./figures.ts";
import type { Place } from "./place.ts";
import { pause, startProcess, until } from "./processes.ts";

/** A server that can be ended and started again. */
export interface Restartable {
  stop(mode: "fast" | "immediate"): Promise<void>;
  /** Resolves when it accepts connections. */
  start(): Promise<void>;
}

const drivers = ["pg", "postgres"] as const;

/**
 * PostgreSQL is ended and started again under idle workers, one of each driver; how long from its
 * accepting connections to the first job, which is enqueued at once.
 */
export async function restarted(
  place: Place,
  server: Restartable,
  { rounds, mode, awayMs }: { rounds: number; mode: "fast" | "immediate"; awayMs: number },
): Promise<Figure[]> {
  const workers = drivers.map((driver) => ({
    driver,
    process: startProcess({ url: place.url, driver, kind: driver }),
    roundsMs: [] as number[],
  }));
  for (let round = 0; round < rounds; round += 1) {
    const listening = () => workers.every(({ process }) => process.listens.at(-1)?.listening);
    await until(listening, "both workers listen");
    await server.stop(mode);
    await pause(awayMs);
    await server.start();
    const from = Date.now();
    await Promise.all(
      workers.map(async ({ driver, process, roundsMs }) => {
        const id = await until(() => place.enqueue(driver).catch(() => undefined), "an enqueue");
        const at = await until(() => process.began.find((job) => job.id === id)?.at, "the job");
        roundsMs.push(at - from);
      }),
    );
  }
  for (const { process } of workers) process.kill();
  const how = mode === "fast" ? "stopped" : "crashed";
  return workers.map(({ driver, roundsMs }) => ({
    what: `PostgreSQL ${how} and started → the first job, from its accepting connections`,
    with: `away for ${awayMs / 1_000} s, ${driver === "pg" ? "node-postgres" : "postgres.js"}`,
    roundsMs,
  }));
}
