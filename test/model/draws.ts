import fc from "fast-check";

/** Calls at random: of jobs they say only which place they have, so that they fit any state. */
const kinds = ["k", "l"];
const owners = ["ann's", "bob's"];
/** Granted something before the first call. */
export const accounts = ["ann", "bob"];
const rarely = fc.integer({ min: 0, max: 3 }).map((number) => number === 0);
const place = fc.nat({ max: 199 });

export const asked = fc.record(
  {
    kind: fc.constantFrom(...kinds),
    payload: fc.constantFrom("p", "q"),
    priority: fc.integer({ min: -3, max: 3 }),
    maxAttempts: fc.integer({ min: 1, max: 3 }),
    key: fc.constantFrom("a", "b", "c"),
    owner: fc.constantFrom(...owners),
    delayed: rarely,
    startWithin: rarely,
    money: fc.oneof(
      fc.record({ cost: fc.integer({ min: 0, max: 4 }), account: fc.constantFrom(...accounts) }),
      fc.record({ onConflict: fc.constantFrom("replace" as const, "rerun" as const), place }),
      fc.constant({}),
    ),
    once: fc.constantFrom("x", "y", undefined, undefined, undefined, undefined),
  },
  { requiredKeys: ["kind", "payload", "priority", "maxAttempts", "money", "once"] },
);

const outcome = fc.oneof(
  fc.record({ action: fc.constant("complete" as const), result: fc.constantFrom("done", "well") }),
  fc.record({
    ...{ action: fc.constant("fail" as const), code: fc.constantFrom("BROKEN", "GONE") },
    ...{ permanent: rarely, delayed: rarely },
  }),
  fc.record({
    action: fc.constant("release" as const),
    code: fc.constantFrom("BUDGET_EXCEEDED", "LATER"),
    delayed: rarely,
  }),
);
const claim = fc.record({ place, isStale: rarely });

const drawn = fc.oneof(
  { weight: 3, arbitrary: fc.record({ fn: fc.constant("enqueue" as const), asked }) },
  fc.record({
    fn: fc.constant("enqueue_many" as const),
    many: fc.array(asked, { minLength: 1, maxLength: 4 }),
  }),
  {
    weight: 3,
    arbitrary: fc.record({
      fn: fc.constant("claim" as const),
      kinds: fc.subarray(kinds, { minLength: 1 }),
      limit: fc.integer({ min: 1, max: 3 }),
      places: fc.array(place, { maxLength: 2 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ fn: fc.constant("outcome" as const), claim, outcome }) },
  {
    weight: 2,
    arbitrary: fc.record({
      fn: fc.constant("finish_many" as const),
      outcomes: fc.array(fc.record({ claim, outcome }), { minLength: 1, maxLength: 4 }),
      byExchange: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ fn: fc.constantFrom("extend", "guard", "step_save", "step_save"), claim },
      ...{ name: fc.constantFrom("one", "two"), word: fc.constantFrom("first", "second") },
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      fn: fc.constantFrom("status", "cancel", "retry", "claim_job", "run_now", "remove"),
      place,
      owner: fc.constantFrom(undefined, undefined, undefined, ...owners),
    }),
  },
  fc.record({ fn: fc.constantFrom("cancel_many", "retry_many"), places: fc.array(place) }),
  fc.record({
    fn: fc.constantFrom("reap", "has_due_work", "prune"),
    kind: fc.constantFrom(...kinds),
  }),
  fc.record({ fn: fc.constantFrom("pause", "resume"), kind: fc.constantFrom(...kinds) }),
  fc.record({
    fn: fc.constant("grant_credits" as const),
    account: fc.constantFrom(...accounts),
    amount: fc.integer({ min: 1, max: 6 }),
    reference: fc.constantFrom("r1", "r2", "r3", "r4", "r5"),
  }),
  fc.record({ fn: fc.constant("credits" as const), account: fc.constantFrom(...accounts) }),
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ fn: fc.constant("refund" as const), place, amount: fc.integer({ min: 1, max: 3 }) },
      reference: fc.constantFrom("x", "y", "z"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      ...{ fn: fc.constant("pass" as const), place },
      what: fc.constantFrom("job", "job", "job", "once"),
    }),
  },
);

export type Drawn = typeof drawn extends fc.Arbitrary<infer T> ? T : never;

/** One run. */
export const calls = fc.array(drawn, { minLength: 1, maxLength: 100, size: "max" });
