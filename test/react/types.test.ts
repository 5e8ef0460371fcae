import { useQuery } from "@tanstack/react-query";
import useSWR from "swr";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineJob } from "../../src/index.ts";
import {
  type JobRequestError,
  type JobView,
  jobQueryOptions,
  jobSwr,
  type StartOptions,
  useJob,
  useStartJob,
} from "../../src/react/index.ts";

// Checked by tsc; nothing here is called, since hooks need a component.

const assess = defineJob("assess", { payload: z.object({ address: z.string() }) });
const plain = defineJob("plain");

interface Report {
  points: number;
}

test("a job's result and progress have the types that were asked for", () => {
  const use = () => useJob<Report, string>("a");
  expectTypeOf<ReturnType<typeof use>["job"]>().toEqualTypeOf<JobView<Report, string> | null>();
  const untyped = () => useJob(null).job?.result;
  expectTypeOf<ReturnType<typeof untyped>>().toBeUnknown();
});

test("a start takes the payload of the definition, or of the type", () => {
  const use = {
    ofDefinition: () => useStartJob<typeof assess>("assess").start,
    ofType: () => useStartJob<{ address: string }>("assess").start,
    ofPlain: () => useStartJob<typeof plain>("plain").start,
    ofNothing: () => useStartJob("plain").start,
  };
  type Started<Name extends keyof typeof use> = Parameters<ReturnType<(typeof use)[Name]>>;
  expectTypeOf<Started<"ofDefinition">>().toEqualTypeOf<
    [payload: { address: string }, options?: StartOptions]
  >();
  expectTypeOf<Started<"ofType">>().toEqualTypeOf<
    [payload: { address: string }, options?: StartOptions]
  >();
  expectTypeOf<Started<"ofPlain">>().toEqualTypeOf<[payload?: unknown, options?: StartOptions]>();
  expectTypeOf<Started<"ofNothing">>().toEqualTypeOf<[payload?: unknown, options?: StartOptions]>();
});

test("a start's answer is a union by outcome", () => {
  const use = () => useStartJob("assess");
  type Answer = Awaited<ReturnType<ReturnType<typeof use>["start"]>>;
  expectTypeOf<Extract<Answer, { outcome: "started" }>["id"]>().toBeString();
  expectTypeOf<Extract<Answer, { outcome: "in_flight" }>["id"]>().toEqualTypeOf<string | null>();
  expectTypeOf<Extract<Answer, { outcome: "insufficient" }>>().not.toHaveProperty("id");
  expectTypeOf<Extract<Answer, { outcome: "error" }>["error"]>().toEqualTypeOf<JobRequestError>();
});

test("the options fit TanStack Query and SWR, and their data is the job", () => {
  const use = {
    query: () => useQuery(jobQueryOptions<Report>("a")),
    selected: () =>
      useQuery({ ...jobQueryOptions<Report>("a"), select: (job) => job.result?.points }),
    swr: () => useSWR(...jobSwr<Report>("a")),
  };
  type Used<Name extends keyof typeof use> = ReturnType<(typeof use)[Name]>["data"];
  expectTypeOf<Used<"query">>().toEqualTypeOf<JobView<Report> | undefined>();
  expectTypeOf<Used<"selected">>().toEqualTypeOf<number | undefined>();
  expectTypeOf<Used<"swr">>().toEqualTypeOf<JobView<Report> | undefined>();
});
