export type StopSignal = "SIGTERM" | "SIGINT";

/** What of Node's `process` is used here; absent on other runtimes. */
interface SignalProcess {
  readonly pid: number;
  prependListener(event: StopSignal, listener: () => void): unknown;
  off(event: StopSignal, listener: () => void): unknown;
  listenerCount(event: StopSignal): number;
  kill(pid: number, signal: StopSignal): unknown;
}

/** Whether a signal came since the watch began, or since one began that it overlaps with. */
export interface Termination {
  readonly received: boolean;
  stopWatching(): void;
}

export interface TerminationOptions {
  /** Called at each arrival of a signal. */
  onSignal?(signal: StopSignal): void;
  /** "SIGTERM" alone by default. */
  signals?: readonly StopSignal[];
  process?: SignalProcess | undefined;
}

/** The one listener for a signal on a process, however many watch: Node warns of a leak at eleven. */
interface Watch {
  readonly watchers: Set<() => void>;
  received: boolean;
  /** Whether somebody else listened when it came. */
  shared: boolean;
  readonly listener: () => void;
}

const watches = new WeakMap<object, Map<StopSignal, Watch>>();

/**
 * Watches for the signals that end a process. A listener takes away Node's default, which is to end
 * it; so when a signal came and nobody else listens, it is sent again once the last watch has ended,
 * and the process ends as it would have without us, only after the jobs in hand.
 */
export function onTermination({
  onSignal,
  signals = ["SIGTERM"],
  process = globalThis.process as SignalProcess | undefined,
}: TerminationOptions = {}): Termination {
  if (process === undefined) return { received: false, stopWatching: () => undefined };
  const own = signals.map((signal) => join(process, signal, () => onSignal?.(signal)));
  return {
    get received() {
      return own.some(({ watch }) => watch.received);
    },
    stopWatching() {
      for (const { leave } of own) leave();
    },
  };
}

function join(process: SignalProcess, signal: StopSignal, watcher: () => void) {
  const known = watches.get(process) ?? new Map<StopSignal, Watch>();
  watches.set(process, known);
  const watch = known.get(signal) ?? beginWatch(process, signal);
  known.set(signal, watch);
  watch.watchers.add(watcher);
  const leave = (): void => {
    if (!watch.watchers.delete(watcher) || watch.watchers.size > 0) return;
    known.delete(signal);
    process.off(signal, watch.listener);
    const alone = !watch.shared && process.listenerCount(signal) === 0;
    if (watch.received && alone) process.kill(process.pid, signal);
  };
  return { watch, leave };
}

function beginWatch(process: SignalProcess, signal: StopSignal): Watch {
  const watch: Watch = {
    watchers: new Set(),
    received: false,
    shared: false,
    listener: () => {
      watch.received = true;
      watch.shared = process.listenerCount(signal) > 1;
      for (const watcher of [...watch.watchers]) watcher();
    },
  };
  // Before all others: one that listens `once` is none any more when its turn is over.
  process.prependListener(signal, watch.listener);
  return watch;
}
