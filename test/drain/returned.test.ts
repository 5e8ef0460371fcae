import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, counts, eventsOf, rowOf } from "./support/client.ts";
import { unhandledRejections } from "./support/unhandled.ts";

const emoji = "\u{1F600}";
const raise = (): never => {
  throw new Error("never touch me");
};

/** Results that are stored, and as what. */
const stored: Record<string, [make: () => unknown, kept: unknown]> = {
  "undefined (S11)": [() => undefined, null],
  null: [() => null, null],
  "zero, false and the empty string": [() => [0, false, "", -0], [0, false, "", 0]],
  "text with an emoji": [() => `${"a".repeat(9_999)}${emoji}`, `${"a".repeat(9_999)}${emoji}`],
  "a date": [() => new Date(0), "1970-01-01T00:00:00.000Z"],
  "a promise": [() => Promise.resolve({ a: 1 }), { a: 1 }],
  // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested.
  "a thenable": [() => ({ then: (done: (value: number) => void) => done(5) }), 5],
  "an instance with toJSON": [() => new URL("https://a.example/b"), "https://a.example/b"],
  "an object without a prototype": [() => Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
  "undefined properties": [() => ({ a: undefined, b: 1 }), { b: 1 }],
  "odd keys": [
    () => JSON.parse('{"__proto__": 1, "": 2, "ü": 3}'),
    JSON.parse('{"__proto__": 1, "": 2, "ü": 3}'),
  ],
  "almost 1 MB": [() => "r".repeat(1_000_000), "r".repeat(1_000_000)],
  "a very small and a very large number": [() => [5e-324, 1.7e308], [5e-324, 1.7e308]],
};

/** Results that can't be stored, and why. */
const dropped: Record<string, [make: () => unknown, why: RegExp]> = {
  "a cycle (S10)": [() => cyclic(), /^result\.self is a circular/],
  "a BigInt (S11)": [() => 1n, /^result is 1n/],
  "a function": [() => raise, /^result is a function/],
  "a symbol": [() => Symbol("s"), /^result is a symbol/],
  "a Map": [() => new Map([[1, 2]]), /^result is of type Map/],
  NaN: [() => ({ ratio: 0 / 0 }), /^result\.ratio is NaN/],
  "an invalid date": [() => new Date(Number.NaN), /^result is an invalid date/i],
  "an error": [() => new Error("returned"), /^result is of type Error/],
  bytes: [() => new Uint8Array(4), /^result is binary data/],
  "more than 1 MB": [() => ["x".repeat(2 ** 20)], /^result takes 1048580 bytes/],
  "500 MB, as JSON": [() => bomb(), /^result takes over/],
  "too deep": [() => nested(600), /nested deeper than 500/],
  "a NUL": [() => ({ text: "a\0" }), /^result\.text is text with a NUL/],
  "half an emoji (S08)": [() => ({ text: "a\ud83d" }), /half a surrogate/],
  "a toJSON that throws": [() => ({ at: { toJSON: raise } }), /^result\.at can't be read/],
  "a getter that throws": [
    () => Object.defineProperty({}, "x", { enumerable: true, get: raise }),
    /^result\.x can't be read/,
  ],
  "a proxy that throws": [() => new Proxy([], { getPrototypeOf: raise }), /^result can't be read/],
};

function cyclic(): object {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}

/** Small in memory, since each level holds the one below ten times. */
function bomb(): unknown {
  let value: unknown = "boom";
  for (let i = 0; i < 8; i++) value = Array(10).fill(value);
  return value;
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

const job = defineJob("job");

describe.each(backends)("whatever a handler returns, on %s", (backend) => {
  let db: TestDatabase;
  const unhandled = unhandledRejections();
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  async function drained(results: Record<string, [make: () => unknown, ...unknown[]]>) {
    const leasehold = client(
      db.database,
      handle(job, ({ payload }) => results[payload as string]?.[0]()),
    );
    const names = Object.keys(results);
    await leasehold.enqueueMany(names.map((payload) => ({ job, payload })));
    const report = await leasehold.drain({ maxJobs: 100 });
    expect(report).toMatchObject({ reason: "empty", completed: names.length });
    expect(await counts(db)).toEqual({ completed: names.length });
    expect(leasehold.toldOf("error")).toEqual([]);
    expect(unhandled).toEqual([]);
    return { leasehold, report, names };
  }

  test("is kept as JSON keeps it", async () => {
    const { leasehold, report, names } = await drained(stored);
    for (const [i, { id }] of report.jobs.entries()) {
      const name = names[i] ?? "";
      expect((await leasehold.status(id))?.result, name).toEqual(stored[name]?.[1]);
      expect(await eventsOf(db, id), name).toEqual([]);
    }
    expect(leasehold.toldOf("completed").some((event) => "resultDropped" in event)).toBe(false);
  });

  test("is dropped where it can't be kept, with an event that says why: the work is done", async () => {
    const { leasehold, report, names } = await drained(dropped);
    const told = leasehold.toldOf("completed");
    for (const [i, { id, outcome }] of report.jobs.entries()) {
      const name = names[i] ?? "";
      const why = expect.stringMatching(dropped[name]?.[1] ?? /never/);
      expect(outcome, name).toBe("completed");
      expect(await rowOf(db, id), name).toMatchObject({ result: null, attempts: 1 });
      expect(await eventsOf(db, id), name).toMatchObject([
        { event: "result_dropped", code: "RESULT_DROPPED", message: why },
      ]);
      expect(told[i], name).toMatchObject({ id, resultDropped: why });
    }
  });
});

describe("what a handler returns", () => {
  test("where awaiting it throws, as for a hostile proxy, is a failed attempt like any other", async () => {
    const db = await openTestDatabase("postgres");
    const leasehold = client(
      db.database,
      handle(job, () => new Proxy({}, { get: raise })),
    );
    await leasehold.enqueue(job);
    expect(await leasehold.drain()).toMatchObject({ retried: 1 });
    await db.close();
  });

  test("is read once: what it answers later does not matter", async () => {
    const db = await openTestDatabase("postgres");
    let reads = 0;
    const leasehold = client(
      db.database,
      handle(job, () => ({
        get n() {
          reads += 1;
          return reads;
        },
      })),
    );
    await leasehold.enqueue(job);
    const { jobs } = await leasehold.drain();
    expect((await rowOf(db, jobs[0]?.id ?? "")).result).toEqual({ n: 1 });
    expect(reads).toBe(1);
    await db.close();
  });
});
