/**
 * The chaos run: everything that leasehold is used for, by processes of its own, while everything that
 * can break is broken; then what was promised is looked at. docs/reliability.md says what it proves.
 *
 *   npm run chaos                          a seed that is printed, 2 minutes
 *   npm run chaos -- --seed 7 --minutes 5
 *
 * The seed decides the faults, their times and what each actor does; how these meet is up to the moment,
 * so a seed is the same storm again, not the same run to the millisecond. The exit code tells whether
 * every promise was kept.
 *
 *   chaos/faults.ts    what is broken, each kind       chaos/schedule.ts  when
 *   chaos/actors/      who uses leasehold              chaos/books.ts     what they were promised
 *   chaos/children/    the processes that work         chaos/handlers.ts  what their jobs do
 *   chaos/checks/      the promises, each a sentence   chaos/report.ts    what is printed
 */
import { type ChaosOptions, chaosOptions } from "./chaos/options.ts";
import { runChaos } from "./chaos/run.ts";

const options = optionsOrUsage();
console.log(`seed ${options.seed}, ${options.minutes} minutes`);
process.exitCode = (await runChaos(options)) ? 0 : 1;

function optionsOrUsage(): ChaosOptions {
  try {
    return chaosOptions(process.argv.slice(2));
  } catch (error) {
    console.error((error as Error).message);
    process.exit(2);
  }
}
