/**
 * How long until work goes on after a fault? Kills workers and drains, restarts PostgreSQL and cuts
 * listening connections, on a PostgreSQL of its own, and prints medians and worst as a table.
 *
 *   npm run recovery                     everything, with the settings that the library has by default
 *   npm run recovery -- --rounds 3       fewer rounds; default 9
 *   npm run recovery -- --short          without what waits for leases of 5 minutes
 */
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { controlOf, startOn } from "../test/support/postgres-control.ts";
import { startPostgres } from "../test/support/postgres-server.ts";
import { startTcpProxy } from "../test/support/tcp-proxy.ts";
import { deaf } from "./recovery/deaf.ts";
import { type Figure, table } from "./recovery/figures.ts";
import { drainsKilled, workersKilled, workersKilledPolled } from "./recovery/killed.ts";
import { openPlace } from "./recovery/place.ts";
import { killAll } from "./recovery/processes.ts";
import { restarted } from "./recovery/restarted.ts";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "9" }, short: { type: "boolean", default: false } },
});
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100) {
  throw new Error(`--rounds is ${values.rounds}: give a whole number from 1 to 100.`);
}

const server = await startPostgres();
const control = controlOf(server.dataDir);
const place = await openPlace(server.url, "recovery");
const proxy = await startTcpProxy(place.url);
const figures: Figure[] = [];

/** Adds what was measured, and tells that it goes on. */
async function measure(what: string, work: () => Promise<Figure[]>): Promise<void> {
  console.error(`${what} …`);
  figures.push(...(await work()));
}

try {
  await measure("workers killed, short lease", () => workersKilled(place, rounds, "10s"));
  await measure("workers killed, polled", () => workersKilledPolled(place, rounds, "10s"));
  await measure("drains killed, short lease", () => drainsKilled(place, rounds, "10s"));
  await measure("drains killed", () => drainsKilled(place, rounds));
  await measure("deaf", () => deaf(place, proxy, rounds));
  const restartable = {
    stop: (mode: string) => control("stop", "-m", mode),
    start: () => startOn(control, server),
  };
  for (const mode of ["fast", "immediate"] as const) {
    for (const awayMs of [0, 5_000]) {
      const options = { rounds, mode, awayMs };
      await measure(`restarts, ${mode}, ${awayMs} ms`, () =>
        restarted(place, restartable, options),
      );
    }
  }
  if (!values.short) await measure("workers killed", () => workersKilled(place, rounds));
} finally {
  killAll();
  await proxy.close();
  await place.close();
  await server.stop();
}
const load = loadavg()
  .map((each) => each.toFixed(1))
  .join(", ");
console.log(`${cpus()[0]?.model}, ${cpus().length} cores, load ${load}; Node ${process.version}\n`);
console.log(table(figures));
