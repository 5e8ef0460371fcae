import * as v from "valibot";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineJob,
  type EnqueueAnswer,
  type Handled,
  handle,
  type Job,
  type JobDefinition,
  type Leasehold,
} from "../../src/index.ts";

const zod = defineJob("zod", {
  payload: z.object({ id: z.string(), at: z.iso.date().transform((text) => new Date(text)) }),
  key: (payload) => {
    expectTypeOf(payload).toEqualTypeOf<{ id: string; at: Date }>();
    return payload.id;
  },
});
const valibot = defineJob("valibot", { payload: v.object({ tries: v.optional(v.number(), 3) }) });
const free = defineJob("free");

// Never called: what counts is that it compiles, and where it must not.
declare const leasehold: Leasehold;
const handled = handle(free, () => undefined);
type Call = () => Promise<unknown>;
const compiles = (..._calls: Call[]) => undefined;

describe("the types", () => {
  test("hand the handler the schema's output", () => {
    const typed = handle(zod, (job) => {
      expectTypeOf(job).toEqualTypeOf<Job<{ id: string; at: Date }>>();
      expectTypeOf(job.signal).toEqualTypeOf<AbortSignal>();
    });
    expectTypeOf(typed).toEqualTypeOf<Handled>();
    handle(valibot, (job) => expectTypeOf(job.payload).toEqualTypeOf<{ tries: number }>());
    handle(free, (job) => expectTypeOf(job.payload).toEqualTypeOf<unknown>());
  });

  test("ask the caller for the schema's input", () => {
    compiles(
      () => leasehold.enqueue(zod, { id: "a", at: "2030-01-31" }),
      () => leasehold.enqueue(valibot, {}),
      () => leasehold.enqueue(free),
      () => leasehold.enqueue(free, Symbol.iterator),
      // @ts-expect-error the input is text, the output a Date
      () => leasehold.enqueue(zod, { id: "a", at: new Date() }),
      // @ts-expect-error a property is missing
      () => leasehold.enqueue(zod, { id: "a" }),
      // @ts-expect-error not a number
      () => leasehold.enqueue(valibot, { tries: "3" }),
      // @ts-expect-error an option that does not exist
      () => leasehold.enqueue(free, {}, { ownr: "ann" }),
      // @ts-expect-error a handler is no definition
      () => leasehold.enqueue(handled, {}),
    );
  });

  test("give nobody another's id: a conflict has none", () => {
    type Conflict = Extract<EnqueueAnswer, { outcome: "conflict" }>;
    expectTypeOf<Conflict>().not.toHaveProperty("id");
    expectTypeOf<Conflict["holder"]["id"]>().toEqualTypeOf<string | null>();
    expectTypeOf<EnqueueAnswer["outcome"]>().toEqualTypeOf<
      "created" | "replaced" | "rerun" | "duplicate" | "conflict" | "insufficient"
    >();
    compiles(async () => {
      const answer = await leasehold.enqueue(free);
      // @ts-expect-error only after a look at the outcome
      answer.id;
      if (answer.outcome === "created") expectTypeOf(answer.id).toEqualTypeOf<string>();
      else if (answer.outcome !== "conflict" && answer.outcome !== "insufficient")
        expectTypeOf(answer.id).toEqualTypeOf<string>();
    });
  });

  test("take definitions of any schema side by side", () => {
    expectTypeOf(free).toEqualTypeOf<JobDefinition<undefined>>();
    compiles(
      () => leasehold.enqueueMany([{ job: zod, payload: { id: "a", at: "x" } }, { job: free }]),
      // @ts-expect-error no such option
      () => leasehold.enqueueMany([{ job: free, ownr: "ann" }]),
    );
  });

  test("let release end the handler, and transaction pass its value through", () => {
    handle(free, async (job) => {
      expectTypeOf(job.release).returns.toEqualTypeOf<never>();
      expectTypeOf(job.transaction(async () => 5)).resolves.toEqualTypeOf<number>();
      expectTypeOf(job.step("a", () => 5)).resolves.toEqualTypeOf<number>();
      expectTypeOf(job.step("b", async () => ({ c: "d" }))).resolves.toEqualTypeOf<{ c: string }>();
      expectTypeOf(job.extend()).resolves.toEqualTypeOf<boolean>();
    });
  });
});
