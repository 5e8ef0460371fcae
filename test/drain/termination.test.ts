import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { onTermination } from "../../src/termination.ts";

/** A process that notes what it is sent, in place of the one that runs the tests. */
class OtherProcess extends EventEmitter {
  readonly pid = 7;
  readonly sent: unknown[] = [];

  kill(...sent: unknown[]): void {
    this.sent.push(sent);
  }
}

const again = [[7, "SIGTERM"]];

describe("a watch for SIGTERM", () => {
  test("takes its listener off at its end, and sends nothing where no signal came", () => {
    const process = new OtherProcess();
    const watch = onTermination({ process });
    expect(process.listenerCount("SIGTERM")).toBe(1);
    expect(watch.received).toBe(false);
    watch.stopWatching();
    expect(process.listenerCount("SIGTERM")).toBe(0);
    expect(process.sent).toEqual([]);
  });

  test("sends the signal again at its end where nobody else listens", () => {
    const process = new OtherProcess();
    const watch = onTermination({ process });
    process.emit("SIGTERM");
    expect([watch.received, process.sent]).toEqual([true, []]);
    watch.stopWatching();
    expect(process.sent).toEqual(again);
  });

  test("leaves the end to others who listen", () => {
    const process = new OtherProcess();
    process.on("SIGTERM", () => undefined);
    const watch = onTermination({ process });
    process.emit("SIGTERM");
    watch.stopWatching();
    expect(process.sent).toEqual([]);
  });

  test("that overlaps with others sends it only when the last of them has ended", () => {
    const process = new OtherProcess();
    const watches = Array.from({ length: 12 }, () => onTermination({ process }));
    expect(process.listenerCount("SIGTERM")).toBe(1);
    process.emit("SIGTERM");
    const late = onTermination({ process });
    expect([...watches, late].every(({ received }) => received)).toBe(true);
    for (const watch of watches) watch.stopWatching();
    expect(process.sent).toEqual([]);
    late.stopWatching();
    expect(process.sent).toEqual(again);
  });

  test("begun after the last one ended knows nothing of an earlier signal", () => {
    const process = new OtherProcess();
    process.on("SIGTERM", () => undefined);
    const first = onTermination({ process });
    process.emit("SIGTERM");
    first.stopWatching();
    const second = onTermination({ process });
    expect(second.received).toBe(false);
    second.stopWatching();
  });

  test("is nothing where there is no process", () => {
    const watch = onTermination(undefined as never);
    watch.stopWatching();
    expect(watch.received).toBe(false);
  });
});
