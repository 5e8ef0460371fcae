import { describe, expect, test } from "vitest";
import {
  causeChain,
  cleanText,
  describeError,
  maxMessageLength,
} from "../../src/describe-error.ts";
import { toJson } from "../../src/json.ts";

const message = (thrown: unknown) => describeError(thrown).message;
const code = (thrown: unknown) => describeError(thrown).code;
const withCode = (value: unknown) => Object.assign(new Error("x"), { code: value });

describe("S09: whatever is thrown has a message and a code", () => {
  const throws = () => {
    throw new Error("not today");
  };
  const dead = Proxy.revocable({}, {});
  dead.revoke();

  test.each<[string, unknown, string]>([
    ["undefined", undefined, "thrown without a message: undefined"],
    ["null", null, "thrown without a message: null"],
    ["a string", "str", "str"],
    ["an empty string", "", 'thrown without a message: ""'],
    ["a blank string", " \n", 'thrown without a message: " \\n"'],
    ["a number", 42, "42"],
    ["zero", 0, "0"],
    ["false", false, "false"],
    ["a bigint", 5n, "5n"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["an empty object", {}, "thrown without a message: {}"],
    ["an object without a message", { reason: "x" }, 'thrown without a message: {"reason":"x"}'],
    ["an empty message", { message: "" }, 'thrown without a message: {"message":""}'],
    ["a null prototype", Object.create(null), "thrown without a message: {}"],
    ["a message that is a number", { message: 7 }, "7"],
    ["a message that is a list", { message: ["a", "b"] }, '["a","b"]'],
    ["an error without a message", new Error(), "Error without a message"],
    ["a TypeError without a message", new TypeError(), "TypeError without a message"],
    ["a Response", new Response(null, { status: 503 }), "HTTP 503"],
    ["a class", class Oops extends Error {}, "Oops without a message"],
    ["an arrow function", (() => () => {})(), "thrown without a message: a function"],
    [
      "a throwing getter",
      {
        get message() {
          return throws();
        },
      },
      "thrown without a message: an object",
    ],
    ["a revoked proxy", dead.proxy, "thrown without a message: an object"],
    [
      "a hostile proxy",
      new Proxy({}, { get: throws, has: throws, ownKeys: throws, getPrototypeOf: throws }),
      "thrown without a message: an object",
    ],
  ])("%s", (_, thrown, expected) => {
    expect(message(thrown)).toBe(expected);
    expect(code(thrown)).toMatch(/^\w{1,100}$/);
  });
});

describe("S12: the root cause is told", () => {
  test("an AggregateError says what its errors say", () => {
    const errors = [new Error("a"), new Error("b"), "c"];
    expect(message(new AggregateError(errors))).toBe("AggregateError: a; b; c");
    expect(message(new AggregateError(errors, "All failed"))).toBe("All failed: a; b; c");
    const many = Array.from({ length: 9 }, (_, i) => new Error(`e${i}`));
    expect(message(new AggregateError(many))).toBe(
      "AggregateError: e0; e1; e2; e3; e4; and 4 more",
    );
  });

  test("an AggregateError within another, or within itself, ends", () => {
    const inner = new AggregateError([new Error("a")], "inner");
    expect(message(new AggregateError([inner], "outer"))).toBe("outer: inner: a");
    inner.errors.push(inner);
    expect(message(inner)).toBe("inner: a; inner: a; inner");
  });

  test("causes follow their error, five at most", () => {
    expect(message(new Error("outer", { cause: new Error("inner") }))).toBe(
      "outer; caused by inner",
    );
    expect(message(new Error("outer", { cause: "plain text" }))).toBe(
      "outer; caused by plain text",
    );
    expect(message(new Error("outer", { cause: () => 1 }))).toBe(
      "outer; caused by cause without a message",
    );
    let chain = new Error("level 9");
    for (let level = 8; level >= 0; level--) chain = new Error(`level ${level}`, { cause: chain });
    expect(message(chain)).toMatch(/^level 0; .*; caused by level 5$/);
  });

  test("a cause that its error repeats is not said twice", () => {
    const cause = new Error("connect ECONNREFUSED");
    expect(message(new Error(`fetch failed: ${cause.message}`, { cause }))).toBe(
      "fetch failed: connect ECONNREFUSED",
    );
  });

  test("S10: cycles of causes and of anything else end", () => {
    const error = Object.assign(new Error("boom"), { request: {} as Record<string, unknown> });
    error.request.self = error.request;
    error.cause = error;
    expect(message(error)).toBe("boom");
    const other = new Error("other", { cause: error });
    error.cause = other;
    expect(message(error)).toBe("boom; caused by other");
    expect(causeChain(error)).toEqual([error, other]);
  });

  test("a long message leaves room for its cause", () => {
    const error = new Error("x".repeat(5_000), { cause: new Error("the root") });
    expect(message(error)).toMatch(/x…; caused by the root$/);
  });
});

describe("the code", () => {
  test.each(["ECONNRESET", "23505", "ERR_HTTP2_ERROR", "P2002"])(
    "is the error's own: %s",
    (own) => {
      expect(code(withCode(own))).toBe(own);
    },
  );

  test.each(["", "two words", "auth/expired", "x".repeat(101), "a\0", 11_000, null, {}])(
    "is not the error's own where that is no short word: %j",
    (own) => {
      expect(code(withCode(own))).toBe("ERROR");
    },
  );

  test("falls back to the HTTP status, a cause's code, the name, and ERROR, in this order", () => {
    const refused = Object.assign(new Error("x"), { code: "ECONNREFUSED" });
    const status = Object.assign(new TypeError("x", { cause: refused }), { status: 503 });
    expect(code(status)).toBe("HTTP_503");
    expect(code(new Error("x", { cause: { response: { statusCode: 429 } } }))).toBe("HTTP_429");
    expect(code(new TypeError("fetch failed", { cause: refused }))).toBe("ECONNREFUSED");
    expect(code(new RangeError("x"))).toBe("RangeError");
    expect(code(AbortSignal.abort().reason)).toBe("AbortError");
    expect(code(new Error("x"))).toBe("ERROR");
    expect(code({ status: 200, name: "no good name" })).toBe("ERROR");
  });
});

describe("S08: the text is fit for jsonb", () => {
  test("a long message is cut between characters", () => {
    for (const before of [1, 2, 3]) {
      const text = `${"a".repeat(maxMessageLength - before)}\u{1F600}tail`;
      const stored = message(new Error(text));
      expect(stored.length).toBeLessThanOrEqual(maxMessageLength);
      expect(stored).toMatch(/^a+(😀)?…$/);
      expect(stored).not.toContain("\uFFFD");
    }
    expect(message(new Error("a".repeat(maxMessageLength)))).toBe("a".repeat(maxMessageLength));
  });

  test("whole emoji survive, halves are replaced", () => {
    expect(message(new Error("a😀b"))).toBe("a😀b");
    expect(message(new Error("a\ud83db"))).toBe("a\uFFFDb");
    expect(cleanText("😀😀", 4)).toBe("😀😀");
    expect(cleanText("😀😀", 3)).toBe("😀…");
    expect(cleanText("\ud83d\ud83d😀", 3)).toBe("\uFFFD\uFFFD…");
  });

  test("control characters are replaced, line breaks and tabs stay", () => {
    expect(message("a\0b\u001b[31mc\nd\te\r\nf\u0085")).toBe("a\uFFFDb\uFFFD[31mc\nd\te\nf\uFFFD");
  });

  test("an object that would be endless as JSON is not written out", () => {
    let doubled: unknown = "leaf";
    for (let level = 0; level < 100; level++) doubled = [doubled, doubled];
    expect(message({ doubled })).toBe("thrown without a message: an object");
    expect(message({ message: { doubled } })).toBe("an object");
  });

  test("5 MB of message, stack and name cost no more than what is kept", () => {
    const error = new Error("x".repeat(5_000_000));
    Object.assign(error, { stack: "y".repeat(5_000_000), name: "z".repeat(5_000_000) });
    const begun = performance.now();
    const description = describeError(error);
    expect(performance.now() - begun).toBeLessThan(1_000);
    expect(description.message).toHaveLength(maxMessageLength);
    expect(toJson(description).length).toBeLessThan(3 * maxMessageLength);
  });
});

describe("the details", () => {
  test("are name, status and stack, where there are any", () => {
    const error = Object.assign(new TypeError("x"), { response: { status: 404, data: 1n } });
    expect(describeError(error).details).toEqual({
      name: "TypeError",
      status: 404,
      stack: error.stack,
    });
    expect(describeError({ status: 500 }).details).toEqual({ status: 500 });
    expect(describeError("str")).toEqual({ code: "ERROR", message: "str" });
  });
});
