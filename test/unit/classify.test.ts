import { createClient } from "@supabase/supabase-js";
import { describe, expect, test } from "vitest";
import { classify, maxRetryAfterMs, PermanentError } from "../../src/classify.ts";
import { describeError } from "../../src/describe-error.ts";
import { show } from "../../src/errors.ts";

const transient = { action: "fail", permanent: false };
const permanent = { action: "fail", permanent: true };
const released = (code: string) => ({ action: "release", retryAfterMs: 900_000, code });
const retryAfter = (fields: object) => classify({ status: 429, ...fields });
const waits = (retryAfterMs: number) => ({ ...transient, retryAfterMs });

describe("the HTTP status decides", () => {
  test.each([408, 425, 429, 500, 502, 503, 504, 599])("%i is transient", (status) => {
    expect(classify({ status })).toEqual(transient);
  });

  test.each([400, 402, 404, 405, 409, 410, 413, 422, 451, 499])("%i is permanent", (status) => {
    expect(classify({ status })).toEqual(permanent);
  });

  test.each([401, 403])("%i is not the job's fault: released for 15 minutes", (status) => {
    expect(classify({ status })).toEqual(released(`HTTP_${status}`));
  });

  test.each<[string, object]>([
    ["status", { status: 404 }],
    ["statusCode", { statusCode: 404 }],
    ["response.status", { response: { status: 404 } }],
    ["response.statusCode", { response: { statusCode: 404 } }],
    ["a Response", new Response(null, { status: 404 })],
    ["a cause", new Error("x", { cause: { response: { status: 404 } } })],
    ["behind a status that is none", { status: "error", statusCode: 404 }],
    ["behind a success", { status: 200, response: { status: 404 } }],
  ])("wherever it is: %s", (_, thrown) => {
    expect(classify(thrown)).toEqual(permanent);
  });

  test("five causes deep, and no deeper", () => {
    const wrap = (levels: number): unknown =>
      levels === 0 ? { status: 404 } : new Error("x", { cause: wrap(levels - 1) });
    expect(classify(wrap(5))).toEqual(permanent);
    expect(classify(wrap(6))).toEqual(transient);
  });

  test.each([0, 16, 200, 302, 399, 600, 404.5, "404", Number.NaN, 404n])(
    "unless it is none: %s",
    (status) => {
      expect(classify({ status })).toEqual(transient);
    },
  );

  test("the outermost that says something decides", () => {
    const forbidden = Object.assign(new Error("x"), { status: 403 });
    const outage = Object.assign(new Error("x", { cause: forbidden }), { status: 503 });
    expect(classify(outage)).toEqual(transient);
    expect(classify(new PermanentError("no use", { cause: outage }))).toEqual(permanent);
    expect(classify(Object.assign(new Error("x", { cause: new PermanentError("y") })))).toEqual(
      permanent,
    );
  });
});

describe("PermanentError", () => {
  test("fails the job now, with its code and cause", () => {
    const cause = new Error("inner");
    const error = new PermanentError("no such invoice", { code: "NO_INVOICE", cause });
    expect(classify(error)).toEqual(permanent);
    expect(error).toBeInstanceOf(Error);
    expect(error.cause).toBe(cause);
    expect(describeError(error)).toMatchObject({
      code: "NO_INVOICE",
      message: "no such invoice; caused by inner",
    });
    expect(describeError(new PermanentError("x")).code).toBe("PermanentError");
    expect("cause" in new PermanentError("x")).toBe(false);
  });

  test("is recognised when it comes from another copy of the package", () => {
    const brand = Symbol.for("leasehold.PermanentError");
    class PermanentErrorOfAnotherCopy extends Error {
      get [brand]() {
        return true;
      }
    }
    expect(classify(new PermanentErrorOfAnotherCopy("x"))).toEqual(permanent);
    expect(classify({ name: "PermanentError" })).toEqual(transient);
  });

  test("may be extended", () => {
    class NoInvoice extends PermanentError {}
    expect(classify(new NoInvoice("x"))).toEqual(permanent);
  });
});

describe("everything else is transient", () => {
  const throws = () => {
    throw new Error("not today");
  };
  const dead = Proxy.revocable({}, {});
  dead.revoke();
  const cyclic = new Error("x");
  cyclic.cause = cyclic;

  test.each<[string, unknown]>([
    ["a network error", Object.assign(new Error("x"), { code: "ECONNRESET" })],
    ["a timeout", AbortSignal.abort().reason],
    ["a bug", new TypeError("x is not a function")],
    ["a database error", Object.assign(new Error("x"), { code: "23505", severity: "ERROR" })],
    ["undefined", undefined],
    ["null", null],
    ["a string", "404"],
    ["a symbol", Symbol("s")],
    ["an endless chain", cyclic],
    ["a getter that throws", Object.defineProperty({}, "status", { get: throws })],
    ["a hostile proxy", new Proxy({}, { get: throws, has: throws })],
    ["a revoked proxy", dead.proxy],
    [
      "headers that throw",
      { status: 503, headers: new Proxy({}, { get: throws, ownKeys: throws }) },
    ],
  ])("%s", (_, thrown) => {
    expect(classify(thrown)).toEqual(transient);
  });
});

describe("Retry-After", () => {
  test.each<[string, object]>([
    ["Headers", { headers: new Headers({ "Retry-After": "120" }) }],
    ["a Map", { headers: new Map([["RETRY-AFTER", "120"]]) }],
    ["a plain object", { headers: { "retry-after": "120" } }],
    ["in any case", { headers: { "x-other": "1", "Retry-After": " 120 " } }],
    ["a list of values", { headers: { "retry-after": ["120", "240"] } }],
    ["a number", { headers: { "retry-after": 120 } }],
    ["the response's headers", { response: { headers: { "Retry-After": "120" } } }],
    ["the error's own retryAfterMs", { retryAfterMs: 120_000 }],
    ["the error's own retryAfter in seconds", { retryAfter: 120 }],
    ["the error's own retryAfter as text", { retryAfter: "120" }],
    ["a cause", { cause: { headers: { "retry-after": "120" } } }],
    ["the error before its headers", { retryAfterMs: 120_000, headers: { "retry-after": "9" } }],
    ["an error without a status", { status: undefined, retryAfterMs: 120_000 }],
  ])("is honoured from %s", (_, fields) => {
    expect(retryAfter(fields)).toEqual(waits(120_000));
  });

  test("an HTTP date counts from the server's own clock where it is known", () => {
    const headers = {
      date: "Wed, 21 Oct 2015 07:28:00 GMT",
      "retry-after": "Wed, 21 Oct 2015 07:30:00 GMT",
    };
    expect(retryAfter({ headers })).toEqual(waits(120_000));
    expect(retryAfter({ headers: { "retry-after": headers["retry-after"] } })).toEqual(waits(0));
  });

  test("an HTTP date counts from now otherwise", () => {
    const soon = new Date(Date.now() + 3_600_000).toUTCString();
    const { retryAfterMs } = retryAfter({ retryAfter: soon }) as { retryAfterMs: number };
    expect(retryAfterMs).toBeGreaterThan(3_590_000);
    expect(retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });

  test("fractions of a millisecond are rounded up, zero is at once, 24 hours are the most", () => {
    expect(retryAfter({ retryAfter: "1.5" })).toEqual(waits(1_500));
    expect(retryAfter({ retryAfterMs: 0.2 })).toEqual(waits(1));
    expect(retryAfter({ retryAfter: "0" })).toEqual(waits(0));
    for (const long of ["86401", "999999999999999", "Fri, 31 Dec 2599 23:59:59 GMT"]) {
      expect(retryAfter({ retryAfter: long })).toEqual(waits(maxRetryAfterMs));
    }
  });

  const rubbish: unknown[] = [
    "",
    "soon",
    "-5",
    "in 5",
    "1e3",
    "0x10",
    "Infinity",
    "2015-10-21",
    "Wed, 99 Foo 2015 07:28:00 GMT",
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    null,
    {},
    [],
    true,
    5n,
  ];
  test.each(rubbish.map((value) => [show(value), value]))("%s is rubbish, ignored", (_, value) => {
    expect(retryAfter({ retryAfter: value })).toEqual(transient);
    expect(retryAfter({ headers: { "retry-after": value } })).toEqual(transient);
    expect(retryAfter({ retryAfterMs: typeof value === "string" ? "5" : value })).toEqual(
      transient,
    );
  });

  test("headers that are none, or never end, are ignored", () => {
    const endless = {
      *[Symbol.iterator]() {
        while (true) yield ["a", "b"];
      },
    };
    for (const headers of [null, "retry-after: 5", 5, ["retry-after", "5"], [null], endless]) {
      expect(retryAfter({ headers })).toEqual(transient);
    }
  });

  test("does not soften a permanent failure, nor hasten refused credentials", () => {
    expect(classify({ status: 404, retryAfter: 5 })).toEqual(permanent);
    expect(classify({ status: 401, retryAfter: 5 })).toEqual(released("HTTP_401"));
  });
});

describe("what supabase-js' storage answers in place of throwing", () => {
  /** The error of an upload to which the storage answers so. */
  async function refused(answer: () => Promise<Response>): Promise<unknown> {
    const client = createClient("http://127.0.0.1:1", "key", {
      auth: { persistSession: false, autoRefreshToken: false },
      realtime: { transport: class {} as never },
      global: { fetch: answer },
    });
    return (await client.storage.from("faxes").upload("a.pdf", "content", { upsert: true })).error;
  }

  const saying = (status: number, statusCode: string) =>
    refused(async () => Response.json({ statusCode, error: "x", message: "y" }, { status }));

  test("means what its body says, where its status is 400 for all", async () => {
    expect(classify(await saying(400, "403"))).toEqual(released("HTTP_403"));
    expect(classify(await saying(400, "404"))).toEqual(permanent);
    expect(classify(await saying(400, "429"))).toEqual(transient);
    expect(classify(await saying(400, "InvalidKey"))).toEqual(permanent);
    expect(classify(await saying(503, "404"))).toEqual(transient);
  });

  test("tells what the network said", async () => {
    const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    const error = await refused(() => Promise.reject(new TypeError("fetch failed", { cause })));
    expect(classify(error)).toEqual(transient);
    expect(describeError(error)).toMatchObject({
      code: "ECONNRESET",
      message: expect.stringContaining("read ECONNRESET"),
    });
  });
});
