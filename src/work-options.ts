import { handledKinds, processName } from "./claimant.ts";
import { type Duration, durationMs } from "./duration.ts";
import { invalidArgument } from "./errors.ts";
import { integer, knownOptions } from "./options.ts";

/** How a long-running worker works. Durations are milliseconds or text such as "5s". */
export interface WorkOptions {
  /** Jobs at a time, 1 to 10,000. Default 10. */
  concurrency?: number;
  /** Only these of the registered kinds. */
  kinds?: readonly string[];
  /** A name for diagnosis, to which a random part is added. Default: from the process id. */
  worker?: string;
  /** How long `stop` lets handlers go on before their signal aborts. Default 25 s. */
  grace?: Duration;
  /** How often an idle worker asks for work that no notification told it of. Default 5 s. */
  poll?: Duration;
  /** The same once it has been idle for `idleAfter`. Default 30 s. */
  idlePoll?: Duration;
  /** Default 10 minutes. */
  idleAfter?: Duration;
  /** Whether it listens for notifications where the database can, true by default. */
  listen?: boolean;
  /**
   * Whether SIGTERM and SIGINT stop it, true by default. When it has stopped and nobody else
   * listens for the signal, the process ends by it; at a second signal it ends at once.
   */
  signals?: boolean;
}

/** The same, checked and complete. */
export interface WorkSettings {
  readonly concurrency: number;
  readonly kinds: readonly string[];
  readonly worker: string;
  readonly graceMs: number;
  readonly pollMs: number;
  readonly idlePollMs: number;
  readonly idleAfterMs: number;
  readonly listen: boolean;
  readonly signals: boolean;
}

const optionNames = [
  "concurrency",
  "kinds",
  "worker",
  "grace",
  "poll",
  "idlePoll",
  "idleAfter",
  "listen",
  "signals",
] as const satisfies readonly (keyof WorkOptions)[];

/** A poll more often than this is a loop that costs the database more than it brings. */
const minPollMs = 50;

const hourMs = 3_600_000;

/** Checks the options of a worker and fills in its defaults. Throws LH002, LH003, LH004. */
export function workSettings(options: WorkOptions, registered: readonly string[]): WorkSettings {
  knownOptions("work", options, optionNames);
  const { concurrency = 10, kinds = registered } = options;
  const { poll = "5s", idleAfter = "10m", grace = "25s" } = options;
  const pollMs = durationMs("poll", poll, { min: minPollMs, max: hourMs });
  const { idlePoll = Math.max(pollMs, 30_000) } = options;
  return {
    concurrency: integer("concurrency", concurrency, { min: 1, max: 10_000 }),
    // All that are registered is the client's own list: a development server may change it.
    kinds:
      kinds === registered ? handledKinds(kinds, registered) : [...handledKinds(kinds, registered)],
    worker: processName("worker", options.worker),
    graceMs: graceMs(grace),
    pollMs,
    idlePollMs: durationMs("idlePoll", idlePoll, { min: pollMs, max: hourMs }),
    idleAfterMs: durationMs("idleAfter", idleAfter, { max: 24 * hourMs }),
    listen: boolean("listen", options.listen),
    signals: boolean("signals", options.signals),
  };
}

/** Up to a day. Throws LH002. */
export function graceMs(grace: Duration): number {
  return durationMs("grace", grace, { max: 24 * hourMs });
}

function boolean(name: string, value: unknown = true): boolean {
  if (typeof value !== "boolean") throw invalidArgument(name, value, "true or false");
  return value;
}
