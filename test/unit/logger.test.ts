import { afterEach, describe, expect, test, vi } from "vitest";
import { InvalidArgumentError } from "../../src/errors.ts";
import {
  childLogger,
  consoleLogger,
  type Logger,
  safeLogger,
  silentLogger,
} from "../../src/logger.ts";

/** A logger that keeps what it is told, without a child method of its own. */
function recorder() {
  const lines: [string, object, string][] = [];
  const keep = (level: string) => (fields: object, message: string) => {
    lines.push([level, fields, message]);
  };
  const logger: Logger = {
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn"),
    error: keep("error"),
  };
  return { lines, logger };
}

function consoleLines(work: () => void): string[] {
  const lines: string[] = [];
  for (const method of ["debug", "info", "log", "warn", "error"] as const) {
    vi.spyOn(console, method).mockImplementation((...args) => lines.push(args.join(" ")));
  }
  work();
  return lines;
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("consoleLogger", () => {
  test("writes warnings and errors, one line each, the fields as JSON", () => {
    const lines = consoleLines(() => {
      consoleLogger.debug({ id: "a" }, "claimed");
      consoleLogger.info({ id: "a" }, "completed");
      consoleLogger.warn({ id: "a", attempts: 2, none: undefined }, "lease lost");
      consoleLogger.error({}, "database gone");
    });
    expect(lines).toEqual([
      'leasehold: lease lost {"id":"a","attempts":2}',
      "leasehold: database gone",
    ]);
  });

  test("shows errors, bigints and what JSON can't say, without losing the other fields", () => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const fields = {
      error: new TypeError("boom"),
      amount: 5n,
      circular,
      handler: () => 1,
      id: "a",
    };
    const [line = ""] = consoleLines(() => consoleLogger.error(fields, "failed"));
    expect(line).toContain('"error":{"code":"TypeError","message":"boom"');
    expect(line).toContain('"amount":"5","circular":"an object","handler":"a function","id":"a"}');
  });

  test("forges no lines and no terminal escapes (S42)", () => {
    const [line = ""] = consoleLines(() =>
      consoleLogger.warn({ key: "a\u009b31m\nb" }, "one\ntwo\u2028\u001b[31mthree"),
    );
    expect(line).toBe('leasehold: one two \uFFFD[31mthree {"key":"a\uFFFD31m\\nb"}');
  });

  test("survives fields that can't be read", () => {
    const { proxy: hostile, revoke } = Proxy.revocable({}, {});
    revoke();
    const lines = consoleLines(() => consoleLogger.warn(hostile, "still here"));
    expect(lines).toEqual(["leasehold: still here"]);
  });

  test("writes the fields of its children", () => {
    const lines = consoleLines(() => childLogger(consoleLogger, { id: "a" }).warn({}, "slow"));
    expect(lines).toEqual(['leasehold: slow {"id":"a"}']);
  });
});

test("silentLogger says nothing", () => {
  const lines = consoleLines(() => {
    silentLogger.error({}, "x");
    childLogger(silentLogger, { id: "a" }).warn({}, "x");
  });
  expect(lines).toEqual([]);
});

describe("childLogger", () => {
  test("merges the fields where the logger has no child of its own; the line's own win", () => {
    const { lines, logger } = recorder();
    const child = childLogger(childLogger(logger, { id: "a", n: 1 }), { kind: "k" });
    child.info({ n: 2 }, "hello");
    expect(lines).toEqual([["info", { id: "a", n: 2, kind: "k" }, "hello"]]);
  });

  test("uses the logger's own child, called as its method", () => {
    const { lines, logger } = recorder();
    const parent = {
      ...logger,
      bound: { app: "shop" },
      child(fields: object) {
        return childLogger(logger, { ...this.bound, ...fields });
      },
    };
    childLogger(parent, { id: "a" }).warn({}, "hello");
    expect(lines).toEqual([["warn", { app: "shop", id: "a" }, "hello"]]);
  });
});

describe("safeLogger", () => {
  test("passes on what it is told, with the methods bound to their logger", () => {
    const lines: unknown[] = [];
    class Prefixing {
      prefix = "shop";
      debug(fields: object, message: string) {
        lines.push([this.prefix, fields, message]);
      }
      info = this.debug;
      warn = this.debug;
      error = this.debug;
    }
    const { info } = safeLogger(new Prefixing());
    info({ id: "a" }, "hello");
    expect(lines).toEqual([["shop", { id: "a" }, "hello"]]);
  });

  test("a logger that throws, or rejects, breaks nothing, and neither do its children", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => unhandled.push(error);
    process.on("unhandledRejection", onUnhandled);
    const fail = () => {
      throw new Error("disk full");
    };
    const reject = async () => fail();
    const throwing = safeLogger({
      debug: fail,
      info: fail,
      warn: reject,
      error: reject,
      child: fail,
    });
    for (const logger of [throwing, throwing.child?.({ id: "a" }) ?? silentLogger]) {
      expect(() => logger.info({}, "x")).not.toThrow();
      expect(() => logger.error({}, "x")).not.toThrow();
    }
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", onUnhandled);
    expect(unhandled).toEqual([]);
  });

  test("a child that is no logger is replaced by merging the fields", () => {
    const { lines, logger } = recorder();
    const safe = safeLogger({ ...logger, child: () => undefined });
    childLogger(safe, { id: "a" }).warn({ n: 1 }, "hello");
    expect(lines).toEqual([["warn", { id: "a", n: 1 }, "hello"]]);
  });

  test("console itself is a logger", () => {
    expect(() => safeLogger(console)).not.toThrow();
  });

  test.each([[null], [undefined], ["console"], [{}], [{ info: () => {} }], [() => {}]])(
    "what is no logger is refused: %s",
    (value) => {
      expect(() => safeLogger(value)).toThrow(InvalidArgumentError);
      expect(() => safeLogger(value)).toThrow(/^logger is .* debug, info, warn and error/);
    },
  );
});
