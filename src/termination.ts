/** What of Node's `process` is used here; absent on other runtimes. */
interface SignalProcess {
  readonly pid: number;
  on(event: "SIGTERM", listener: () => void): unknown;
  off(event: "SIGTERM", listener: () => void): unknown;
  listenerCount(event: "SIGTERM"): number;
  kill(pid: number, signal: "SIGTERM"): unknown;
}

/** Whether SIGTERM came since the watch began, or since one began that it overlaps with. */
export interface Termination {
  readonly received: boolean;
  stopWatching(): void;
}

/** The one listener on a process, however many drains overlap: Node warns of a leak at eleven. */
interface Watch {
  watchers: number;
  received: boolean;
  readonly listener: () => void;
}

const watches = new WeakMap<object, Watch>();

/**
 * Watches for SIGTERM. A listener takes away Node's default, which is to end the process; so when the
 * signal came and nobody else listens, it is sent again once the last watch has ended, and the
 * process ends as it would have without us, only after the jobs in hand.
 */
export function onTermination(
  process: SignalProcess | undefined = globalThis.process as SignalProcess | undefined,
): Termination {
  if (process === undefined) return { received: false, stopWatching: () => undefined };
  const watch = watches.get(process) ?? beginWatch(process);
  watch.watchers += 1;
  return {
    get received() {
      return watch.received;
    },
    stopWatching() {
      watch.watchers -= 1;
      if (watch.watchers > 0) return;
      watches.delete(process);
      process.off("SIGTERM", watch.listener);
      if (watch.received && process.listenerCount("SIGTERM") === 0) {
        process.kill(process.pid, "SIGTERM");
      }
    },
  };
}

function beginWatch(process: SignalProcess): Watch {
  const watch: Watch = {
    watchers: 0,
    received: false,
    listener: () => {
      watch.received = true;
    },
  };
  watches.set(process, watch);
  process.on("SIGTERM", watch.listener);
  return watch;
}
