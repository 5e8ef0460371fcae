import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { z } from "zod";
import {
  type Classify,
  defineJob,
  handle,
  type Logger,
  PermanentError,
  type Verdict,
} from "../../src/index.ts";
import { createLeasehold } from "../../src/leasehold.ts";
import { openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { client, rowOf } from "./support/client.ts";

const job = defineJob("job", { backoff: ["1h"] });
const minute = 60_000;

let db: TestDatabase;
let server: Server;
let url = "";
beforeAll(async () => {
  db = await openTestDatabase("postgres");
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://a");
    const retryAfter = searchParams.get("after");
    if (retryAfter) response.setHeader("retry-after", retryAfter);
    response.writeHead(Number(pathname.slice(1))).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address?.port}`;
});
beforeEach(() => db.reset());
afterAll(async () => {
  server.close();
  await db.close();
});

/** Drains one job whose handler throws this; what became of it and how long it rests. */
async function thrown(error: unknown, classify?: Classify) {
  const run = () => {
    throw error;
  };
  const leasehold = client(db.database, handle(job, run, classify ? { classify } : {}));
  await leasehold.enqueue(job);
  const { jobs } = await leasehold.drain();
  const row = await rowOf(db, jobs[0]?.id ?? "");
  const { outcome, code } = jobs[0] ?? {};
  return { outcome, code, attempts: row.attempts, restMs: row.run_after - row.claimed_at };
}

/** What an HTTP client of the user's makes of an answer that is no success. */
async function answered(status: number, query = ""): Promise<unknown> {
  const response = await fetch(`${url}/${status}${query}`);
  return Object.assign(new Error(`HTTP ${status}`), { response });
}

function expectRest(restMs: number, ms: number): void {
  expect(restMs).toBeGreaterThanOrEqual(ms);
  expect(restMs).toBeLessThan(ms * 1.05 + 5_000);
}

describe("an error of HTTP, end to end:", () => {
  test.each([401, 403])("%i releases the job for 15 minutes, no attempt spent", async (status) => {
    const { restMs, ...rest } = await thrown(await answered(status));
    expect(rest).toEqual({ outcome: "released", code: `HTTP_${status}`, attempts: 0 });
    expectRest(restMs, 15 * minute);
  });

  test("429 is tried again after its Retry-After", async () => {
    const { restMs, ...rest } = await thrown(await answered(429, "?after=120"));
    expect(rest).toEqual({ outcome: "retried", code: "HTTP_429", attempts: 1 });
    expectRest(restMs, 2 * minute);
  });

  test("503 without one is tried again after the kind's backoff", async () => {
    const { restMs, ...rest } = await thrown(await answered(503));
    expect(rest).toEqual({ outcome: "retried", code: "HTTP_503", attempts: 1 });
    expectRest(restMs, 60 * minute);
  });

  test("a Retry-After of days counts as 24 hours", async () => {
    const { restMs } = await thrown(await answered(503, "?after=999999"));
    expectRest(restMs, 24 * 60 * minute);
  });

  test.each([400, 404, 410, 422])("%i fails for good", async (status) => {
    const { outcome, code, attempts } = await thrown(await answered(status));
    expect({ outcome, code, attempts }).toEqual({
      outcome: "failed",
      code: `HTTP_${status}`,
      attempts: 1,
    });
  });

  test("a closed port, as fetch tells it, is tried again under its own code", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
    const address = closed.address();
    const port = typeof address === "object" && address?.port;
    await new Promise((resolve) => closed.close(resolve));
    const error = await fetch(`http://127.0.0.1:${port}`).catch((e: unknown) => e);
    expect(await thrown(error)).toMatchObject({ outcome: "retried", code: "ECONNREFUSED" });
  });

  test("a PermanentError fails for good, under the code that it gives", async () => {
    const error = new PermanentError("no such mail", { code: "NO_MAIL" });
    expect(await thrown(error)).toMatchObject({ outcome: "failed", code: "NO_MAIL" });
    const wrapped = new Error("while fetching", { cause: new PermanentError("no") });
    expect(await thrown(wrapped)).toMatchObject({ outcome: "failed" });
  });

  test("an error of the database is tried again under its SQLSTATE", async () => {
    const error = await db.query("select 1 / 0").catch((e: unknown) => e);
    expect(await thrown(error)).toMatchObject({ outcome: "retried", code: "22012" });
  });
});

describe("a payload that its schema refuses by the time of the claim", () => {
  const strict = defineJob("job", { payload: z.object({ version: z.literal(2) }) });
  const versionOne = { p_kind: "job", p_payload: { version: 1 } };

  test("fails for good, by its path, and the handler does not run", async () => {
    let ran = false;
    const leasehold = client(
      db.database,
      handle(strict, () => {
        ran = true;
      }),
    );
    await db.database.call("enqueue", versionOne);
    const { jobs } = await leasehold.drain();
    expect(jobs).toMatchObject([{ outcome: "failed", code: "INVALID_PAYLOAD" }]);
    expect(await rowOf(db, jobs[0]?.id ?? "")).toMatchObject({
      status: "failed",
      attempts: 1,
      last_error_message: expect.stringContaining("payload.version"),
    });
    expect(ran).toBe(false);
  });

  test("may be left to a later version of the handler, by classify", async () => {
    const later: Classify = () => ({ action: "fail", permanent: false });
    const leasehold = client(
      db.database,
      handle(strict, () => undefined, { classify: later }),
    );
    await db.database.call("enqueue", versionOne);
    expect(await leasehold.drain()).toMatchObject({ retried: 1, failed: 0 });
  });
});

describe("a classify of the user's own", () => {
  const boom = Object.assign(new Error("boom"), { status: 404 });
  const answering = (verdict: unknown) => thrown(boom, () => verdict as Verdict);

  test("is given what was thrown and the default verdict, and decides", async () => {
    const seen: unknown[] = [];
    const keep: Classify = (...args) => {
      seen.push(...args);
      return undefined;
    };
    expect(await thrown(boom, keep)).toMatchObject({ outcome: "failed" });
    expect(seen).toEqual([boom, { action: "fail", permanent: true }]);

    const transient = await answering({ action: "fail", permanent: false, retryAfterMs: 90_000 });
    expect(transient).toMatchObject({ outcome: "retried", code: "HTTP_404" });
    expectRest(transient.restMs, 90_000);
    expect(await answering({ action: "fail", permanent: true })).toMatchObject({
      outcome: "failed",
    });
    const released = await answering({ action: "release", retryAfterMs: 1_500.5, code: "NIGHT" });
    expect(released).toMatchObject({ outcome: "released", code: "NIGHT", attempts: 0 });
    expectRest(released.restMs, 1_501);
  });

  test("can't release for less than a second", async () => {
    const { restMs } = await answering({ action: "release", retryAfterMs: 0, code: "NOW" });
    expectRest(restMs, 1_000);
  });

  test("that throws or answers no verdict leaves the default one, with a line in the log", async () => {
    const lines: unknown[] = [];
    const quiet = () => undefined;
    const logger: Logger = {
      debug: quiet,
      info: quiet,
      warn: quiet,
      error: (fields) => lines.push(fields),
    };
    const answers: (() => unknown)[] = [
      () => {
        throw new Error("broken");
      },
      () => "permanent",
      () => 5,
      () => [],
      () => ({}),
      () => ({ action: "retry" }),
      () => ({ action: "fail" }),
      () => ({ action: "fail", permanent: "yes" }),
      () => ({ action: "fail", permanent: false, retryAfterMs: -1 }),
      () => ({ action: "fail", permanent: false, retryAfterMs: "soon" }),
      () => ({ action: "release", code: "X" }),
      () => ({ action: "release", retryAfterMs: Number.NaN, code: "X" }),
      () => ({ action: "release", retryAfterMs: 2 ** 31, code: "X" }),
      () => ({ action: "release", retryAfterMs: 5_000 }),
      () => ({ action: "release", retryAfterMs: 5_000, code: "a\0b" }),
      async () => ({ action: "fail", permanent: false }),
      () => Promise.reject(new Error("broken later")),
      () =>
        new Proxy(
          {},
          {
            get() {
              throw new Error("never read me");
            },
          },
        ),
    ];
    for (const answer of answers) {
      const own = handle(
        job,
        () => {
          throw boom;
        },
        { classify: answer as Classify },
      );
      const leasehold = createLeasehold({ database: db.database, handlers: [own], logger });
      await leasehold.enqueue(job);
      expect(await leasehold.drain(), String(answer)).toMatchObject({ failed: 1, unrecorded: 0 });
      expect(lines.splice(0), String(answer)).toEqual([
        { job: expect.any(String), kind: "job", err: expect.any(Object) },
      ]);
    }
  });
});
