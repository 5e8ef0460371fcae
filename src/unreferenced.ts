/** A timer that does not keep the process alive. Node's timers are objects. */
export function unreferenced<Timer extends { unref?(): unknown } | number>(timer: Timer): Timer {
  if (typeof timer === "object") timer.unref?.();
  return timer;
}
