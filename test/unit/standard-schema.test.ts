import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { InvalidArgumentError, InvalidPayloadError } from "../../src/errors.ts";
import {
  type Input,
  type Output,
  requireSchema,
  type StandardSchemaV1,
  validatePayload,
} from "../../src/standard-schema.ts";

const email = z.object({ emailId: z.uuid(), retries: z.number().default(3) });
const emailId = "0192a4f0-0000-7000-8000-000000000000";

/** A schema of no library, with the `validate` given. */
const schemaOf = (validate: StandardSchemaV1["~standard"]["validate"]): StandardSchemaV1 => ({
  "~standard": { version: 1, vendor: "test", validate },
});

describe("validatePayload", () => {
  test("answers what the schema makes of the value", async () => {
    await expect(validatePayload(email, { emailId, extra: 1 })).resolves.toEqual({
      emailId,
      retries: 3,
    });
    const upper = v.pipe(v.string(), v.toUpperCase());
    await expect(validatePayload(upper, "a")).resolves.toBe("A");
  });

  test("answers the value itself without a schema", async () => {
    const value = { any: "thing" };
    await expect(validatePayload(undefined, value)).resolves.toBe(value);
  });

  test("waits for a schema that answers later", async () => {
    const taken = z.string().refine(async (name) => name !== "taken", "is taken");
    await expect(validatePayload(taken, "free")).resolves.toBe("free");
    await expect(validatePayload(taken, "taken")).rejects.toThrow("payload: is taken");
  });

  test("names each issue by its path", async () => {
    const refusal = validatePayload(email, { emailId: "x", retries: "y" });
    await expect(refusal).rejects.toBeInstanceOf(InvalidPayloadError);
    await expect(refusal).rejects.toThrow(
      /^payload is not valid: payload\.emailId: Invalid UUID; payload\.retries: .*\. Correct the payload\.$/,
    );
    const list = v.object({ items: v.array(v.object({ price: v.number() })) });
    await expect(validatePayload(list, { items: [{ price: "1" }] }, "result")).rejects.toThrow(
      "result.items[0].price: Invalid type",
    );
  });

  test("lists five issues, and counts the rest", async () => {
    const issues = Array.from({ length: 8 }, (_, i) => ({ message: `no ${i}`, path: ["list", i] }));
    await expect(
      validatePayload(
        schemaOf(() => ({ issues })),
        null,
      ),
    ).rejects.toThrow("payload.list[3]: no 3; payload.list[4]: no 4; and 3 more.");
  });

  test("keeps the schema's messages short and on one line", async () => {
    const message = `${"x".repeat(5_000)}\n\0`;
    const refusal = validatePayload(
      schemaOf(() => ({ issues: [{ message }] })),
      null,
    );
    await expect(refusal).rejects.toThrow(/^payload is not valid: payload: x{199}…\. Correct/);
  });

  test("refuses even where no issue is named, as the standard has it", async () => {
    await expect(
      validatePayload(
        schemaOf(() => ({ issues: [] })),
        null,
      ),
    ).rejects.toThrow("payload is not valid: its schema names no issue");
  });

  test.each<[string, () => never | Promise<never>]>([
    [
      "throws",
      () => {
        throw new Error("bug");
      },
    ],
    ["rejects", () => Promise.reject(new Error("bug"))],
  ])("a schema that %s is reported with its cause", async (_, validate) => {
    const refusal = validatePayload(schemaOf(validate), null);
    await expect(refusal).rejects.toBeInstanceOf(InvalidPayloadError);
    await expect(refusal).rejects.toMatchObject({ code: "LH103", cause: new Error("bug") });
  });

  test("a schema that answers nothing is reported as one that throws", async () => {
    const refusal = validatePayload(
      schemaOf(() => undefined as never),
      null,
    );
    await expect(refusal).rejects.toThrow("payload can't be checked, since its schema threw");
  });
});

test.each([[null], [{}], [() => true], [{ parse: () => 1 }], [{ "~standard": {} }]])(
  "what is no Standard Schema is refused: %s",
  (value) => {
    expect(() => requireSchema("payload", value)).toThrow(InvalidArgumentError);
    expect(() => requireSchema("payload", value)).toThrow(/^payload is .*Zod/);
  },
);

test("the types are the schema's, and unknown without one", () => {
  expectTypeOf<Input<typeof email>>().toEqualTypeOf<{
    emailId: string;
    retries?: number | undefined;
  }>();
  expectTypeOf<Output<typeof email>>().toEqualTypeOf<{ emailId: string; retries: number }>();
  expectTypeOf<Output<undefined>>().toBeUnknown();
  expectTypeOf(validatePayload<typeof email>).returns.resolves.toEqualTypeOf<
    Output<typeof email>
  >();
});
