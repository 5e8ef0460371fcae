import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonArgument } from "../../src/cli/json-argument.ts";
import { findJsonFault } from "../../src/cli/json-fault.ts";
import { findInexactNumber, parseExactly } from "../../src/cli/json-numbers.ts";

const faults: readonly (readonly [text: string, line: number, column: number, problem: string])[] =
  [
    ["", 1, 1, "the end where a value belongs"],
    ["{", 1, 2, 'the end where a name in double quotes or "}" belongs'],
    ["{a: 1}", 1, 2, '"a" where a name in double quotes or "}" belongs'],
    ["{'a': 1}", 1, 2, `"'" where a name in double quotes or "}" belongs`],
    ['{"a" 1}', 1, 6, '"1" where a ":" belongs'],
    ['{"a": 1,}', 1, 9, '"}" where a name in double quotes belongs'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, '"\\"" where "," or "}" belongs'],
    ["[1, 2", 1, 6, 'the end where "," or "]" belongs'],
    ["[1,]", 1, 4, '"]" where a value belongs'],
    ["[}", 1, 2, '"}" where a value or "]" belongs'],
    ["{} x", 1, 4, '"x" where the end belongs'],
    ["01", 1, 1, '"0" where a value belongs'],
    ["1.e5", 1, 1, '"1" where a value belongs'],
    ["truely", 1, 1, '"t" where a value belongs'],
    ['"half', 1, 1, '"\\"" where a value belongs'],
    ['["受信", 🙂]', 1, 8, '"🙂" where a value belongs'],
  ];

describe("text that is no JSON", () => {
  it.each(faults)("is told by place and problem: %j", (text, line, column, problem) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(findJsonFault(text)).toEqual({ line, column, problem });
  });

  it("is what JSON.parse refuses, and nothing else", () => {
    const pieces = fc.constantFrom(
      ...'{ } [ ] : , 0 -1 1.5e3 - . e true null x " "a" "\\n" \\u12 \n'.split(" "),
    );
    const text = fc.oneof(
      fc.json(),
      fc.string({ maxLength: 8 }),
      fc.array(pieces, { maxLength: 8 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(text, (json) => {
        let valid = true;
        try {
          JSON.parse(json);
        } catch {
          valid = false;
        }
        expect(findJsonFault(json) === undefined).toBe(valid);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("a number that JavaScript would change", () => {
  it("is found, wherever it stands", () => {
    expect(findInexactNumber('{"a": [1, 9007199254740993]}')).toBe("9007199254740993");
    expect(findInexactNumber("1e400")).toBe("1e400");
    expect(findInexactNumber("0.12345678901234567890")).toBe("0.12345678901234567890");
  });

  it("is neither one that is written in another way, nor digits within text", () => {
    const exact = "[0, -0.0, 1.50, 15e-1, 1E+3, 1e21, 0.1, 5e-324, 9007199254740992, 1e-7]";
    expect(findInexactNumber(exact)).toBeUndefined();
    expect(findInexactNumber('{"9007199254740993": "a \\" 9007199254740993"}')).toBeUndefined();
  });

  it("is read as text", () => {
    expect(parseExactly('{"a": 9007199254740993, "b": 1.5, "c": "\\"12"}')).toEqual({
      a: "9007199254740993",
      b: 1.5,
      c: '"12',
    });
  });

  it("is none that JSON.stringify has written", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.stringify(value);
        expect(findInexactNumber(json)).toBeUndefined();
        expect(parseExactly(json)).toEqual(JSON.parse(json));
      }),
    );
  });
});

describe("a JSON argument", () => {
  it("is refused before it is too deep or too large for jsonb", async () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    await expect(jsonArgument("PAYLOAD", deep)).rejects.toMatchObject({ code: "LH103" });
    const large = JSON.stringify("x".repeat(2_000_000));
    await expect(jsonArgument("PAYLOAD", large)).rejects.toMatchObject({ code: "LH004" });
  });

  it("keeps every name, also __proto__", async () => {
    const value = await jsonArgument("PAYLOAD", '{"__proto__": 1}');
    expect(JSON.stringify(value)).toBe('{"__proto__":1}');
  });
});
