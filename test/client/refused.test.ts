import { describe, expect, test } from "vitest";
import {
  createLeasehold,
  type DrainOptions,
  defineJob,
  type EnqueueCallOptions,
  handle,
  InvalidArgumentError,
  type JobDefinition,
  type JobOptions,
  type LeaseholdOptions,
} from "../../src/index.ts";
import { untouchable } from "../drain/support/interposed.ts";

const job = defineJob("job");
const run = () => undefined;
const leasehold = createLeasehold({ database: untouchable, handlers: [handle(job, run)] });

/** What no duration may be, whatever its bounds. */
const noDurations = [
  ...[-1, -0.5, 0.5, Number.NaN, Infinity, -Infinity, 1e300, 2 ** 53],
  ...["5", "", "1 h", "-1s", "0.5ms", "1e3", "1y", "NaN"],
  ...[null, true, {}, [], 5n, new Date()],
];
const timerTooLong = [2 ** 31, "25d"];

/** What no whole number may be, whatever its bounds. */
const noIntegers = [
  ...[-1e9, 0.5, Number.NaN, Infinity, -Infinity, 1e300, 1e9],
  ...["1", null, true, {}, [], 1n],
];

const noTexts = [0, 5, true, {}, [], "", " ", "\n", "a\0", "a\u001b", "\ud83d", Symbol("s")];
const noObjects = [null, [], "fast", 5];

const cases: (refused: Record<string, readonly unknown[]>) => [string, readonly unknown[]][] =
  Object.entries;

/** Each of the values, given to `act`, is refused with a message that has `name` in it. */
async function expectRefused(
  name: string,
  values: readonly unknown[],
  act: (value: never) => unknown,
): Promise<void> {
  for (const value of values) {
    const error = await Promise.resolve(value as never)
      .then(act)
      .catch((thrown: unknown) => thrown);
    const where = `${name}: ${String(value)}`;
    expect(error, where).toBeInstanceOf(InvalidArgumentError);
    expect((error as InvalidArgumentError).message, where).toContain(name);
    expect((error as InvalidArgumentError).hint, where).not.toBe("");
  }
}

describe("a bad option is refused at once, by name, and the database is not touched:", () => {
  test.each(
    cases({
      payload: [null, {}, "zod", () => undefined, { "~standard": {} }],
      key: [null, "key", {}, 5],
      priority: [...noIntegers, 32_768, -32_769],
      maxAttempts: [...noIntegers, 0, -1, 32_768],
      backoff: [...noDurations, [], "1m", ["1m", "x"], [-1], [2 ** 31], Array(101).fill("1m")],
      lease: [...noDurations, 0, ...timerTooLong],
      timeout: [...noDurations, 0, ...timerTooLong],
      startWithin: [...noDurations, 0, "3651d"],
      retain: [...noDurations, 0, "3651d"],
      leese: [1],
      max_attempts: [1],
    }),
  )("%s of defineJob", (name, values) =>
    expectRefused(name, values, (value) => defineJob("job", { [name]: value } as JobOptions)),
  );

  test("the kind of defineJob", () =>
    expectRefused(
      "kind",
      [...noTexts, undefined, null, "k".repeat(101), "leasehold.reconcile"],
      (kind) => defineJob(kind),
    ));

  test("the definition, the function and the options of handle", async () => {
    const noDefinitions = [...noObjects, {}, run, { kind: "job" }, handle(job, run)];
    await expectRefused("job of handle", noDefinitions, (value) => handle(value, run));
    await expectRefused("handler of job", [undefined, null, "run", {}], (value) =>
      handle(job, value),
    );
    await expectRefused("classify", [null, "transient", {}, 5], (value) =>
      handle(job, run, { classify: value }),
    );
    await expectRefused("clasify", [run], (value) =>
      handle(job, run, { clasify: value } as object),
    );
    await expectRefused("options", noObjects, (value) => handle(job, run, value));
  });

  test.each(
    cases({
      database: [null, {}, "postgres://x", { call: run }, { schema: "x", call: 5 }],
      schema: [5, "", null, {}, "a\0b", "s".repeat(64), "other"],
      handlers: [null, {}, run, [run], [job], [null], [handle(job, run), handle(job, run)]],
      logger: [null, {}, "console", { debug: run }],
      grace: [...noDurations, "25h"],
      onAlert: [null, {}, "page"],
      keepAlive: [null, {}, "after"],
      housekeeping: [null, 0, "off"],
      cache: [null, 5, []],
      databse: [untouchable],
    }),
  )("%s of createLeasehold", (name, values) =>
    expectRefused(name, values, (value) => {
      createLeasehold({ database: untouchable, [name]: value } as LeaseholdOptions);
    }),
  );

  test.each(
    cases({
      key: noTexts,
      owner: noTexts,
      priority: [...noIntegers, 32_768],
      maxAttempts: [...noIntegers, 0, -1],
      delay: [...noDurations, "3651d"],
      startWithin: [...noDurations, 0, "3651d"],
      runAfter: [5, "", "tomorrow", "2030-01-31", "2030-01-31T12:00:00", new Date(NaN), null],
      onConflict: ["ignore", "", 5, null, {}],
      once: [...noTexts, null],
      onceFor: [...noDurations, 0, "3651d"],
      run_after: [new Date()],
      cost: [5, -1, 0.5, Number.NaN, Infinity, 2 ** 53, "1", true, {}, [], 1n],
      costs: [5],
    }),
  )("%s of enqueue", (name, values) =>
    expectRefused(name, values, (value) =>
      leasehold.enqueue(job, {}, { [name]: value } as EnqueueCallOptions),
    ),
  );

  test.each(
    cases({
      budget: [...noDurations, 0, ...timerTooLong],
      reserve: [...noDurations, ...timerTooLong, "240s"],
      maxJobs: [...noIntegers, 0, -1, 10_001],
      kinds: [null, {}, 5, "job", [], ["other"], [5], ["job", null], [["job"]]],
      worker: [...noTexts, null, "w".repeat(501)],
      signal: [null, {}, "abort", new AbortController()],
      maxjobs: [1],
      max_jobs: [1],
    }),
  )("%s of drain", (name, values) =>
    expectRefused(name, values, (value) => leasehold.drain({ [name]: value } as DrainOptions)),
  );

  test("options that are no object", async () => {
    const refused = (name: string, act: (options: object) => unknown) =>
      expectRefused(`options of ${name}`, noObjects, act);
    await refused("defineJob", (options) => defineJob("job", options));
    await refused("createLeasehold", (options) => createLeasehold(options));
    await refused("enqueue", (options) => leasehold.enqueue(job, {}, options));
    await refused("enqueueMany", (options) => leasehold.enqueueMany([], options));
    await refused("drain", (options) => leasehold.drain(options));
    await refused("status", (options) => leasehold.status("x", options));
    await refused("cancel", (options) => leasehold.cancel("x", options));
    await refused("retry", (options) => leasehold.retry("x", options));
  });

  test("a job that no definition made", () =>
    expectRefused(
      "job",
      [undefined, null, "job", 5, {}, [], run, { kind: "job" }, handle(job, run)],
      (value: JobDefinition) => leasehold.enqueue(value, {}),
    ));

  test("a key function that answers no key", () =>
    expectRefused("key", [5, "", {}, true], (value) =>
      leasehold.enqueue(defineJob("keyed", { key: () => value }), {}),
    ));

  test("a drain without handlers, which says what to pass (LH105)", async () => {
    const none = createLeasehold({ database: untouchable });
    await expect(none.drain()).rejects.toMatchObject({ code: "LH105" });
  });

  test("a misspelt name, with the one that was meant", async () => {
    const misspelt = (options: object) => expect(leasehold.enqueue(job, {}, options)).rejects;
    await misspelt({ ownr: "ann" }).toThrow(/Did you mean owner\?/);
    await misspelt({ tX: {} }).toThrow(/Did you mean tx\?/);
    await expect(leasehold.drain({ budgt: 1 } as object)).rejects.toThrow(/Did you mean budget\?/);
  });
});
