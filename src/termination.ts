/** What of Node's `process` is used here; absent on other runtimes. */
interface SignalProcess {
  readonly pid: number;
  on(event: "SIGTERM", listener: () => void): unknown;
  off(event: "SIGTERM", listener: () => void): unknown;
  listenerCount(event: "SIGTERM"): number;
  kill(pid: number, signal: "SIGTERM"): unknown;
}

/** Whether SIGTERM came since the watch began. */
export interface Termination {
  readonly received: boolean;
  stopWatching(): void;
}

/**
 * Watches for SIGTERM. A listener takes away Node's default, which is to end the process; so when the
 * signal came and nobody else listens, it is sent again once the watch has ended, and the process
 * ends as it would have without us, only after the job in hand.
 */
export function onTermination(
  process: SignalProcess | undefined = globalThis.process as SignalProcess | undefined,
): Termination {
  let received = false;
  const listener = () => {
    received = true;
  };
  process?.on("SIGTERM", listener);
  return {
    get received() {
      return received;
    },
    stopWatching() {
      process?.off("SIGTERM", listener);
      if (received && process?.listenerCount("SIGTERM") === 0) {
        process.kill(process.pid, "SIGTERM");
      }
    },
  };
}
