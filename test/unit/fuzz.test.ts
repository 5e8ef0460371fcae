import fc from "fast-check";
import { expect, test } from "vitest";
import { classify } from "../../src/classify.ts";
import { describeError, maxMessageLength } from "../../src/describe-error.ts";
import { InvalidPayloadError, LeaseholdError } from "../../src/errors.ts";
import { toJson, toJsonValue } from "../../src/json.ts";

const anything = (key?: fc.Arbitrary<string>) =>
  fc.anything({
    ...(key === undefined ? {} : { key }),
    maxDepth: 4,
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withUnicodeString: true,
  });

/** UTF-16 units at random: many halves of surrogate pairs. */
const brokenText = fc
  .array(fc.integer({ min: 0, max: 0xffff }))
  .map((units) => String.fromCharCode(...units));

const value = fc.oneof(
  anything(),
  anything(brokenText),
  fc.json().map((text) => JSON.parse(text)),
);

/** Values that JSON and jsonb hold throughout, with undefined properties and dates among them. */
const storable = fc.letrec((tie) => ({
  node: fc.oneof(
    { depthSize: "small" },
    fc.oneof(fc.string({ unit: "grapheme" }), fc.double({ noNaN: true, noDefaultInfinity: true })),
    fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.date({ noInvalidDate: true })),
    fc.array(tie("node")),
    fc.dictionary(fc.string({ unit: "grapheme" }), fc.oneof(tie("node"), fc.constant(undefined))),
  ),
})).node;

const unstorable = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

function textsOf(json: unknown): string[] {
  if (typeof json === "string") return [json];
  if (typeof json !== "object" || json === null) return [];
  return Object.entries(json).flatMap(([key, part]) => [key, ...textsOf(part)]);
}

test("toJson agrees with JSON, or refuses, and what it gives is fit for jsonb", () => {
  fc.assert(
    fc.property(value, (input) => {
      let text: string;
      try {
        text = toJson(input);
      } catch (error) {
        const isTooLarge = error instanceof LeaseholdError && error.code === "LH004";
        expect(isTooLarge || error instanceof InvalidPayloadError).toBe(true);
        return;
      }
      const json = JSON.parse(text);
      expect(json).toEqual(JSON.parse(JSON.stringify(input) ?? "null"));
      expect(toJsonValue(input)).toEqual(json);
      expect(textsOf(json).filter((each) => unstorable.test(each))).toEqual([]);
    }),
    { numRuns: 3_000 },
  );
});

test("toJson refuses nothing that JSON and jsonb can hold", () => {
  fc.assert(
    fc.property(storable, (input) => {
      expect(toJson(input)).toBe(JSON.stringify(input));
    }),
    { numRuns: 1_000 },
  );
});

test("toJson measures exactly", () => {
  fc.assert(
    fc.property(storable, (input) => {
      const bytes = new TextEncoder().encode(JSON.stringify(input)).length;
      expect(() => toJson(input, { maxBytes: bytes })).not.toThrow();
      expect(() => toJson(input, { maxBytes: bytes - 1 })).toThrow(LeaseholdError);
    }),
  );
});

/** Objects that look like errors, with anything at all where an error has its parts. */
const errorLike = fc.record(
  Object.fromEntries(
    ["message", "name", "code", "stack", "cause", "errors", "status", "statusCode"]
      .concat(["response", "headers", "retryAfter", "retryAfterMs"])
      .map((field) => [field, fc.oneof(anything(), brokenText)]),
  ),
  { requiredKeys: [] },
);

const thrown = fc.oneof(
  value,
  errorLike,
  errorLike.map((fields) => Object.assign(new Error("x"), fields)),
  fc.tuple(brokenText, value).map(([text, cause]) => new Error(text, { cause })),
  fc.tuple(fc.array(value), fc.string()).map(([list, text]) => new AggregateError(list, text)),
  fc.func(value).map((answer) => new Proxy({}, { get: (_, property) => answer(property) })),
);

test("describeError and classify take anything, and what they give is fit for jsonb", () => {
  fc.assert(
    fc.property(thrown, (input) => {
      const description = describeError(input);
      expect(description.message.length).toBeGreaterThan(0);
      expect(description.message.length).toBeLessThanOrEqual(maxMessageLength);
      expect(description.code).toMatch(/^\w{1,100}$/);
      expect(toJsonValue(description)).toEqual(description);
      const verdict = classify(input);
      expect(verdict.action).toMatch(/^(fail|release)$/);
      expect(verdict.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 3_000 },
  );
});
