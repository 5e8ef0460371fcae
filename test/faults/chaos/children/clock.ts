/*
 * A process whose clock is wrong: imported before anything else, it moves Date and Date.now by the
 * milliseconds in CHAOS_CLOCK_MS. `performance.now()` and timers are left alone, as they are by a wrong
 * clock. It is the clock of JavaScript alone that is off, not the operating system's.
 */
const offMs = Number(process.env.CHAOS_CLOCK_MS ?? 0);

if (offMs !== 0) {
  const RightDate = Date;
  globalThis.Date = class extends RightDate {
    constructor(...given: [] | [number | string | Date]) {
      if (given.length === 0) super(RightDate.now() + offMs);
      else super(...given);
    }
    static override now(): number {
      return RightDate.now() + offMs;
    }
  } as DateConstructor;
}
