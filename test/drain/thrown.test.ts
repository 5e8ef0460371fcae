import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle } from "../../src/index.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, counts, eventsOf, rowOf } from "./support/client.ts";
import { unhandledRejections } from "./support/unhandled.ts";

const rejected = "a promise that rejects without a reason";
const emoji = "\u{1F600}";

/** Each thing that a handler may throw, the code and a part of the message that are stored. */
const thrown: Record<string, { make: () => unknown; code?: string; message: RegExp }> = {
  "undefined (S09)": { make: () => undefined, message: /undefined/ },
  null: { make: () => null, message: /null/ },
  "a string": { make: () => "str", message: /^str$/ },
  "an empty string": { make: () => "", message: /./ },
  "blank text": { make: () => " \n ", message: /./ },
  "a number": { make: () => 42, message: /^42$/ },
  NaN: { make: () => Number.NaN, message: /^NaN$/ },
  false: { make: () => false, message: /^false$/ },
  "a BigInt": { make: () => 10n, message: /^10n$/ },
  "a symbol": { make: () => Symbol("s"), message: /Symbol\(s\)/ },
  "a function": { make: () => () => 1, message: /./ },
  "{}": { make: () => ({}), message: /\{\}/ },
  "an empty message": { make: () => ({ message: "" }), message: /./ },
  "a message that is no text": { make: () => ({ message: { a: 1 } }), message: /"a":1/ },
  "an object without a prototype": { make: () => Object.create(null), message: /./ },
  "a message getter that throws": { make: () => evil(["message"]), message: /./ },
  "getters that all throw": {
    make: () => evil(["message", "name", "code", "stack", "cause", "status", "errors"]),
    message: /./,
  },
  "a proxy that throws at every touch": { make: () => hostile(), message: /./ },
  "a revoked proxy": { make: () => revoked(), message: /./ },
  "a toString that throws": { make: () => ({ toString: raise }), message: /./ },
  [rejected]: { make: () => Promise.reject(), message: /undefined/ },
  "a circular error (S10)": { make: () => circular(), message: /^boom$/ },
  "causes that form a ring": { make: () => ring(), message: /^one; caused by two$/ },
  "an AggregateError (S12)": {
    make: () => new AggregateError([new Error("a"), new Error("b")]),
    code: "AggregateError",
    message: /a; b/,
  },
  "an AggregateError that holds itself": { make: () => selfHolding(), message: /./ },
  "a cause": {
    make: () => new Error("outer", { cause: new Error("inner") }),
    message: /^outer; caused by inner$/,
  },
  "a cause that is a function": {
    make: () => new Error("outer", { cause: () => 1 }),
    message: /^outer/,
  },
  "a code": {
    make: () => Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
    code: "ECONNREFUSED",
    message: /^refused$/,
  },
  "a code that is no word": {
    make: () => Object.assign(new TypeError("x"), { code: "a b\0" }),
    code: "TypeError",
    message: /^x$/,
  },
  "a message with NUL": { make: () => new Error("a\0b"), message: /^a\uFFFDb$/ },
  "half an emoji": { make: () => new Error("a\ud83d"), message: /^a\uFFFD$/ },
  "an emoji at the limit (S08)": {
    make: () => new Error(`${"a".repeat(3_999)}${emoji}tail`),
    message: /^a+…$/,
  },
  "an emoji within the limit": {
    make: () => new Error(`${"a".repeat(3_997)}${emoji}tail`),
    message: new RegExp(`^a+${emoji}…$`, "u"),
  },
  "5 MB of message and stack": { make: () => huge(), message: /^z+…$/ },
};

const raise = (): never => {
  throw new Error("never touch me");
};

function evil(names: string[]): object {
  return Object.defineProperties(
    {},
    Object.fromEntries(names.map((name) => [name, { get: raise }])),
  );
}

/** Every trap throws, `getPrototypeOf` included, which `instanceof` sets off. */
function hostile(): object {
  return new Proxy({}, new Proxy({}, { get: () => raise }));
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function circular(): Error {
  const request: { self?: unknown } = {};
  request.self = request;
  const error = Object.assign(new Error("boom"), { request });
  return Object.assign(error, { cause: error });
}

function ring(): Error {
  const one = new Error("one");
  one.cause = new Error("two", { cause: one });
  return one;
}

function selfHolding(): AggregateError {
  const error = new AggregateError([]);
  error.errors.push(error, error);
  return error;
}

function huge(): Error {
  const error = new Error("z".repeat(5_000_000));
  error.stack = "s".repeat(5_000_000);
  return error;
}

const names = Object.keys(thrown);
const throwing = (job: { payload: unknown }): unknown => {
  const value = thrown[job.payload as string]?.make();
  if (job.payload === rejected) return value;
  throw value;
};
const job = defineJob("job");
const all = names.map((payload) => ({ job, payload }));

describe.each(backends)("whatever a handler throws, on %s", (backend) => {
  let db: TestDatabase;
  const unhandled = unhandledRejections();
  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(() => db.reset());
  afterAll(() => db.close());

  test("its job is tried again with a code and a message that say what it was", async () => {
    const leasehold = client(db.database, handle(job, throwing));
    await leasehold.enqueueMany(all);
    const report = await leasehold.drain({ maxJobs: 100 });
    expect(report).toMatchObject({ reason: "empty", retried: names.length, unrecorded: 0 });
    expect(leasehold.toldOf("error")).toEqual([]);
    expect(await counts(db)).toEqual({ queued: names.length });
    for (const [i, { id, code }] of report.jobs.entries()) {
      const name = names[i] ?? "";
      const row = await rowOf(db, id);
      expect(row, name).toMatchObject({ payload: name, attempts: 1, last_error_code: code });
      expect(row.last_error_message, name).toMatch(thrown[name]?.message ?? /never/);
      expect(row.last_error_message.length, name).toBeLessThanOrEqual(4_000);
      expect(code, name).toMatch(/^\w{1,100}$/);
      if (thrown[name]?.code) expect(code, name).toBe(thrown[name]?.code);
      expect(await eventsOf(db, id), name).toMatchObject([{ event: "failed", code }]);
    }
    expect(unhandled).toEqual([]);
  });

  test("its job fails where that was the last attempt, and the next one goes on", async () => {
    const leasehold = client(
      db.database,
      handle(job, throwing),
      handle(defineJob("next"), () => "well"),
    );
    const last = { maxAttempts: 1, priority: -1 };
    await leasehold.enqueueMany(all.map((item) => ({ ...item, ...last })));
    await leasehold.enqueue(defineJob("next"));
    const report = await leasehold.drain({ maxJobs: 100 });
    expect(report).toMatchObject({ failed: names.length, completed: 1, reason: "empty" });
    expect(await counts(db)).toEqual({ failed: names.length, completed: 1 });
    expect(leasehold.toldOf("failed")).toHaveLength(names.length);
    expect(leasehold.toldOf("error")).toEqual([]);
  });
});

describe("whatever a handler throws", () => {
  test("within job.transaction comes out of it as it went in, and rolls back", async () => {
    const db = await openTestDatabase("postgres");
    const leasehold = client(
      db.database,
      handle(job, (own) => own.transaction(() => throwing(own))),
    );
    await leasehold.enqueueMany(all);
    expect(await leasehold.drain({ maxJobs: 100 })).toMatchObject({ retried: names.length });
    expect(await counts(db)).toEqual({ queued: names.length });
    await db.close();
  });
});
