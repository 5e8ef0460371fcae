import { describe, expect, test } from "vitest";
import { InvalidArgumentError, InvalidPayloadError } from "../../src/errors.ts";
import { maxJsonDepth, toJson, toJsonValue } from "../../src/json.ts";

const refused = (value: unknown, message: string | RegExp, what?: string) => {
  const attempt = () => toJson(value, what === undefined ? {} : { what });
  expect(attempt).toThrow(InvalidPayloadError);
  expect(attempt).toThrow(message);
};

const nested = (levels: number): unknown => {
  let value: unknown = "bottom";
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

describe("what JSON can say is copied", () => {
  test("plain values come out as they went in, in a copy", () => {
    const value = { a: [1, "x", true, null, { b: -1.5e300 }], "": { "odd key": "😀" } };
    const copy = toJsonValue(value);
    expect(copy).toEqual(value);
    expect(copy).not.toBe(value);
    expect(toJson(value)).toBe(JSON.stringify(value));
  });

  test("S11: undefined is null, and undefined properties are dropped", () => {
    expect(toJsonValue(undefined)).toBeNull();
    expect(toJson(undefined)).toBe("null");
    expect(toJson({ a: undefined, b: 1 })).toBe('{"b":1}');
  });

  test("S11: a date is ISO text, whatever its own toJSON says", () => {
    expect(toJson({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });

  test("toJSON is honoured, once, and may answer undefined", () => {
    const self = { toJSON: () => self, kept: 1 };
    const keyed = { toJSON: (key: string) => `under ${key}` };
    expect(toJson({ url: new URL("https://a.example/"), self: { toJSON: () => undefined } })).toBe(
      '{"url":"https://a.example/"}',
    );
    expect(toJson({ k: keyed, list: [keyed] })).toBe('{"k":"under k","list":["under 0"]}');
    refused(self, "payload.toJSON is a function");
    expect(toJson({ toJSON: () => new Date(0) })).toBe('"1970-01-01T00:00:00.000Z"');
  });

  test("class instances, null prototypes and boxed primitives are read as JSON reads them", () => {
    class Point {
      x = 1;
      get norm() {
        return 1;
      }
    }
    const bare = Object.assign(Object.create(null), { a: 1 });
    const boxes = [new Number(1), new String("s"), new Boolean(false)];
    expect(toJson([new Point(), bare, ...boxes])).toBe('[{"x":1},{"a":1},1,"s",false]');
  });

  test("symbol keys and extra properties of arrays are ignored", () => {
    expect(toJson(Object.assign([1], { extra: 2n, [Symbol("s")]: 3 }))).toBe("[1]");
  });

  test("__proto__ is a key like any other", () => {
    const value = JSON.parse('{"__proto__": {"admin": true}}');
    const copy = toJsonValue(value) as Record<string, unknown>;
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"admin":true}}');
    expect(copy.admin).toBeUndefined();
  });

  test("minus zero is zero, in the copy as in the text", () => {
    expect(Object.is(toJsonValue(-0), 0)).toBe(true);
  });

  test("a part that occurs twice is no cycle", () => {
    const part = { a: 1 };
    expect(toJson([part, part, { part }])).toBe('[{"a":1},{"a":1},{"part":{"a":1}}]');
  });

  test("the input is left as it is, even when frozen", () => {
    const value = Object.freeze({ list: Object.freeze([Object.freeze({ at: new Date(0) })]) });
    toJsonValue(value);
    expect(value.list[0]?.at).toBeInstanceOf(Date);
  });
});

describe("S11: what JSON would lose or throw on is refused by its path", () => {
  const bytes = new Uint8Array(2);
  test.each<[string, unknown, string]>([
    ["a bigint", 1n, "is 1n. Give String(value)"],
    ["a boxed bigint", Object(1n), "is of type BigInt"],
    ["NaN", Number.NaN, "is NaN"],
    ["Infinity", Number.POSITIVE_INFINITY, "is Infinity"],
    ["-Infinity", Number.NEGATIVE_INFINITY, "is -Infinity"],
    ["a boxed NaN", new Number(Number.NaN), "is NaN"],
    ["an invalid date", new Date(Number.NaN), "is an invalid date"],
    ["a function", () => 1, "is a function"],
    ["a class", class {}, "is a function"],
    ["a symbol", Symbol("s"), "is a symbol"],
    ["a Map", new Map([[1, 2]]), "is of type Map. Give Object.fromEntries(map)"],
    ["a Set", new Set([1]), "is of type Set. Give [...set]"],
    ["a subclass of Map", new (class extends Map {})(), "is of type Map"],
    ["a WeakMap", new WeakMap(), "is of type WeakMap"],
    ["a WeakSet", new WeakSet(), "is of type WeakSet"],
    ["a promise", Promise.resolve(1), "is of type Promise. Await it first"],
    ["a regular expression", /a/, "is of type RegExp"],
    ["an error", new TypeError("x"), "is of type Error. Give its message"],
    ["an ArrayBuffer", bytes.buffer, "is of type ArrayBuffer. Store it elsewhere"],
    ["a typed array", bytes, "is binary data. Store it elsewhere"],
    ["a Buffer", Buffer.from("x"), "is binary data"],
    ["a DataView", new DataView(bytes.buffer), "is binary data"],
    ["Headers", new Headers({ a: "b" }), "is of type Headers"],
    ["URLSearchParams", new URLSearchParams("a=b"), "is of type URLSearchParams"],
  ])("%s", (_, value, message) => {
    refused(value, `payload ${message}`);
    refused({ items: [0, 1, { price: value }] }, `payload.items[2].price ${message}`);
    refused([value], `result[0] ${message}`, "result");
  });

  test("undefined in an array, a hole included", () => {
    refused([1, undefined], "payload[1] is undefined. Give null in an array.");
    refused({ list: new Array(3) }, "payload.list[0] is undefined");
    refused(new Array(4_294_967_295), "payload[0] is undefined");
    refused([{ toJSON: () => undefined }], "payload[0] is undefined");
  });
});

describe("what would hurt the database or the process is refused by its path", () => {
  test("S10: cycles", () => {
    const request: Record<string, unknown> = { headers: {} };
    request.self = request;
    refused({ request }, "payload.request.self is a circular reference to payload.request.");
    const list: unknown[] = [];
    list.push({ list });
    refused(list, "payload[0].list is a circular reference to payload.");
  });

  test("S08: NUL and half a surrogate pair, in text and in keys; a whole emoji is fine", () => {
    expect(toJson({ "😀": "a😀b\u0001" })).toBe('{"😀":"a😀b\\u0001"}');
    refused({ a: ["x\0y"] }, "payload.a[0] is text with a NUL character");
    refused({ a: "a\ud83d" }, "payload.a is text with half a surrogate pair");
    refused({ a: "\ude00\ud83d" }, "payload.a is text with half a surrogate pair");
    refused({ "k\0": 1 }, 'payload["k\\u0000"] is a key with a NUL character');
    refused({ a: { "\ud83d": 1 } }, 'payload.a["\\ud83d"] is a key with half a surrogate pair');
  });

  test("S10: nesting beyond 500 levels, without a stack overflow however deep", () => {
    expect(JSON.parse(toJson(nested(maxJsonDepth)))).toEqual(nested(maxJsonDepth));
    refused(nested(maxJsonDepth + 1), "is nested deeper than 500 levels");
    refused(nested(1_000_000), "is nested deeper than 500 levels");
    const endless = { toJSON: () => ({ endless: { toJSON: endless.toJSON } }) };
    refused(endless, "is nested deeper than 500 levels");
  });

  test("getters, toJSON and proxies that throw, with what they threw as the cause", () => {
    const cause = new Error("not today");
    const thrower = () => {
      throw cause;
    };
    const getter = Object.defineProperty({}, "x", { get: thrower, enumerable: true });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const value of [{ toJSON: thrower }, new Proxy({}, { ownKeys: thrower })]) {
      refused({ a: [value] }, "payload.a[0] can't be read");
    }
    refused({ a: proxy }, "payload.a can't be read");
    refused({ a: getter }, "payload.a.x can't be read");
    expect(() => toJson(getter)).toThrow(expect.objectContaining({ cause }));
  });
});

describe("size", () => {
  test("is counted in bytes of UTF-8 JSON, exactly, the limit included", () => {
    const value = { a: "ü\n" };
    expect(toJson(value, { maxBytes: 12 })).toBe('{"a":"ü\\n"}');
    expect(() => toJson(value, { maxBytes: 11 })).toThrow(InvalidArgumentError);
    expect(() => toJson(value, { maxBytes: 11, what: "result" })).toThrow(
      "result takes 12 bytes of JSON, and 11 are allowed. Store it elsewhere",
    );
  });

  test("is a megabyte by default", () => {
    expect(toJson("x".repeat(1_048_574))).toHaveLength(1_048_576);
    expect(() => toJson("x".repeat(1_048_575))).toThrow(
      expect.objectContaining({ code: "LH004", message: expect.stringContaining("1048577 bytes") }),
    );
  });

  test("never slips through uncounted: escapes and long numbers", () => {
    const escapes = "\u0001".repeat(20);
    const numbers = Array(20).fill(-1.2345678901234567e-308);
    const keys = { "\u0001": { "": { "": [] } } };
    for (const value of [escapes, numbers, keys, [[], {}, "", null, false]]) {
      const bytes = JSON.stringify(value).length;
      expect(toJson(value, { maxBytes: bytes })).toHaveLength(bytes);
      expect(() => toJson(value, { maxBytes: bytes - 1 })).toThrow(InvalidArgumentError);
    }
  });

  test("is bounded while reading: shared parts that would double it 100 times are given up", () => {
    let value: unknown = "leaf";
    for (let level = 0; level < 100; level++) value = [value, value];
    expect(() => toJson(value)).toThrow("payload takes over 83");
  });
});
