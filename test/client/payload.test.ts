import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createLeasehold, defineJob, InvalidPayloadError } from "../../src/index.ts";
import { untouchable } from "../drain/support/interposed.ts";

const leasehold = createLeasehold({ database: untouchable });
const free = defineJob("free");

class Cyclic {
  readonly self = this;
}

/** A payload that can't be stored, the place that the error names, and what it says of it. */
const unstorable: [string, unknown, RegExp][] = [
  ["a BigInt (S11)", { a: 1n }, /^payload\.a /],
  ["NaN", { list: [0, Number.NaN] }, /^payload\.list\[1\] /],
  ["Infinity", Infinity, /^payload /],
  ["a Map", { m: new Map([[1, 2]]) }, /^payload\.m .*Map/],
  ["a Set", new Set([1]), /^payload .*Set/],
  ["an invalid date", { at: new Date(Number.NaN) }, /^payload\.at /],
  ["a function", { "odd key": () => 1 }, /^payload\["odd key"\] /],
  ["a symbol", [Symbol("s")], /^payload\[0\] /],
  ["undefined in a list", [1, undefined], /^payload\[1\] /],
  ["bytes", { file: new Uint8Array(3) }, /^payload\.file .*binary/],
  ["an error", new Error("no"), /^payload /],
  ["a promise", { later: Promise.resolve(1) }, /^payload\.later .*Await/],
  ["a cycle", { a: { b: new Cyclic() } }, /^payload\.a\.b\.self .*circular/],
  ["a NUL", { text: "a\0b" }, /^payload\.text .*NUL/],
  ["a NUL in a key", { "a\0b": 1 }, /^payload\["a.*NUL/],
  ["half an emoji (S08)", { text: "a\ud83d" }, /^payload\.text .*half a surrogate/],
  ["half an emoji in a key", { "\ude00": 1 }, /half a surrogate/],
  ["a getter that throws", Object.defineProperty({}, "x", thrower(true)), /^payload\.x /],
  ["a toJSON that throws", { d: { toJSON: thrower().get } }, /^payload\.d /],
  ["a revoked proxy", { p: revoked() }, /^payload\.p /],
];

function thrower(enumerable = false) {
  return {
    enumerable,
    get(): never {
      throw new Error("never read me");
    },
  };
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe("a payload that can't be stored is refused before the database is asked, by its path:", () => {
  test.each(unstorable)("%s", async (_, payload, message) => {
    const error = await leasehold.enqueue(free, payload).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect(error).toMatchObject({ code: "LH103", message: expect.stringMatching(message) });
  });

  test("one over 1 MB, with its size", async () => {
    await expect(leasehold.enqueue(free, { text: "ü".repeat(524_288) })).rejects.toMatchObject({
      code: "LH004",
      message: expect.stringMatching(/^payload takes 1048587 bytes of JSON, and 1048576 are/),
    });
  });
});

describe("a payload that its schema refuses is not enqueued:", () => {
  const zod = defineJob("zod", {
    payload: z.object({ emailId: z.uuid(), pages: z.array(z.number()) }),
  });

  test("Zod's issues are listed with their paths", async () => {
    const bad = { emailId: "7", pages: [1, "2"] } as never;
    await expect(leasehold.enqueue(zod, bad)).rejects.toMatchObject({
      code: "LH103",
      message: expect.stringMatching(/payload\.emailId: .*; payload\.pages\[1\]: /),
    });
    await expect(leasehold.enqueue(zod)).rejects.toMatchObject({ code: "LH103" });
  });

  test("Valibot's are as well", async () => {
    const job = defineJob("valibot", {
      payload: v.object({ a: v.pipe(v.number(), v.minValue(3)) }),
    });
    await expect(leasehold.enqueue(job, { a: 2 })).rejects.toThrow(/payload\.a: .*>=3/);
  });

  test("a schema that throws, with its error as the cause", async () => {
    const cause = new Error("broken");
    const job = defineJob("broken", {
      payload: z.string().refine(() => {
        throw cause;
      }),
    });
    await expect(leasehold.enqueue(job, "x")).rejects.toMatchObject({ code: "LH103", cause });
  });

  test("what the schema accepts must still be JSON", async () => {
    const job = defineJob("big", { payload: z.bigint() });
    await expect(leasehold.enqueue(job, 5n)).rejects.toMatchObject({ code: "LH103" });
  });

  test("a key function that throws lets its own error through", async () => {
    const job = defineJob("keyed", {
      key: () => {
        throw new RangeError("no key");
      },
    });
    await expect(leasehold.enqueue(job, {})).rejects.toThrow(RangeError);
  });
});
