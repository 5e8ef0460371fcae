import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { type HttpHandler, type HttpOptions, http } from "../../src/http/index.ts";
import { defineJob, type Leasehold } from "../../src/index.ts";

const assess = defineJob("assess", {
  payload: z.object({ address: z.string(), rooms: z.number().default(1) }),
});
const ping = defineJob("ping");

test("the options of a start know the payload, as the schema gives it back", () => {
  const make = (leasehold: Leasehold) =>
    http({
      leasehold,
      authorize: async (request) => (request.url === "" ? null : { owner: "ann" }),
      jobs: [
        ping,
        {
          job: assess,
          options: ({ owner, payload }) => {
            expectTypeOf(owner).toEqualTypeOf<string | null>();
            expectTypeOf(payload).toEqualTypeOf<{ address: string; rooms: number }>();
            return { key: payload.address };
          },
        },
        { job: ping, options: async ({ payload }) => (payload === undefined ? {} : { cost: 1 }) },
        // @ts-expect-error: when it runs is not an option of a start.
        { job: ping, options: () => ({ delay: "1h" }) },
      ],
    });
  expectTypeOf(make).returns.toEqualTypeOf<HttpHandler>();
  expectTypeOf<HttpHandler>().toExtend<(request: Request) => Promise<Response>>();
});

test("a session's answer fits authorize", () => {
  const authorize: HttpOptions["authorize"] = () => {
    const user = { id: "ann", isAdmin: Math.random() > 2 };
    return { owner: user.id, admin: user.isAdmin };
  };
  expectTypeOf(authorize).toBeFunction();
  // @ts-expect-error: without an owner it must be an admin, or null.
  const nobody: HttpOptions["authorize"] = () => ({});
  expectTypeOf(nobody).toBeFunction();
});
