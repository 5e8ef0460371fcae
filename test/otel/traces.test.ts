import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { defineJob, handle, type Job, PermanentError } from "../../src/index.ts";
import { type OtelOptions, otel } from "../../src/otel/index.ts";
import { deferred, recorded, type TestClient } from "../drain/support/client.ts";
import { age } from "../support/ageing.ts";
import { backends, openTestDatabase, type TestDatabase } from "../support/databases.ts";
import { Sdk } from "./support/sdk.ts";

const job = defineJob("job", { key: (payload) => String(payload), maxAttempts: 2, backoff: [0] });
const other = defineJob("other");

describe.each(backends)("traces on %s", (backend) => {
  let db: TestDatabase;
  let sdk: Sdk;
  let act: (own: Job) => unknown;
  let leasehold: TestClient;

  beforeAll(async () => {
    db = await openTestDatabase(backend);
  });
  beforeEach(async () => {
    await db.reset();
    sdk = new Sdk();
    act = () => undefined;
    leasehold = clientWith({});
  });
  afterEach(() => sdk.stop());
  afterAll(() => db.close());

  function clientWith(options: OtelOptions): TestClient {
    const { tracerProvider, meterProvider } = sdk;
    return recorded({
      database: db.database,
      housekeeping: false,
      handlers: [handle(job, (own) => act(own)), handle(other, () => undefined)],
      telemetry: otel({ tracerProvider, meterProvider, ...options }),
    });
  }

  test("an enqueue is a producer span, and the attempt a trace of its own that links to it", async () => {
    const inHandler = deferred<string | undefined>();
    act = () => {
      const tracer = sdk.tracerProvider.getTracer("mine");
      tracer.startSpan("in the handler").end();
      inHandler.resolve(trace.getActiveSpan()?.spanContext().spanId);
    };
    const answer = await leasehold.enqueue(job, "a");
    await leasehold.drain();
    const [sent, ran] = [sdk.span("enqueue job"), sdk.span("process job")];
    expect(sent).toMatchObject({
      kind: SpanKind.PRODUCER,
      attributes: {
        "messaging.system": "leasehold",
        "messaging.operation.name": "enqueue",
        "messaging.operation.type": "send",
        "messaging.destination.name": "job",
        "messaging.message.id": "id" in answer && answer.id,
        "leasehold.outcome": "created",
      },
    });
    expect(ran).toMatchObject({
      kind: SpanKind.CONSUMER,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "job",
        "messaging.message.id": sent.attributes["messaging.message.id"],
        "leasehold.attempt": 1,
        "leasehold.generation": 1,
        "leasehold.key": "a",
        "leasehold.outcome": "completed",
      },
    });
    expect(ran.parentSpanContext).toBeUndefined();
    expect(ran.links.map((link) => link.context.spanId)).toEqual([sent.spanContext().spanId]);
    expect(ran.spanContext().traceId).not.toBe(sent.spanContext().traceId);
    expect(await inHandler.promise).toBe(ran.spanContext().spanId);
    expect(sdk.span("in the handler").parentSpanContext?.spanId).toBe(ran.spanContext().spanId);
  });

  test("or part of the trace that enqueued it, and so is each further attempt", async () => {
    leasehold = clientWith({ attempts: "child" });
    const tracer = sdk.tracerProvider.getTracer("mine");
    act = (own) => {
      if (own.attempt === 1) throw new Error("once more");
    };
    await tracer.startActiveSpan("request", async (span) => {
      await leasehold.enqueue(job, "a");
      span.end();
    });
    await leasehold.drain();
    await leasehold.drain();
    const [request, sent] = [sdk.span("request"), sdk.span("enqueue job")];
    expect(sent.parentSpanContext?.spanId).toBe(request.spanContext().spanId);
    const attempts = sdk.spans.filter(({ name }) => name === "process job");
    expect(attempts).toHaveLength(2);
    for (const attempt of attempts) {
      expect(attempt.parentSpanContext?.spanId).toBe(sent.spanContext().spanId);
      expect(attempt.spanContext().traceId).toBe(request.spanContext().traceId);
    }
  });

  test("a bulk call is one span, whose context each of its jobs has", async () => {
    await leasehold.enqueueMany([{ job, payload: "a" }, { job: other }]);
    await leasehold.drain();
    const sent = sdk.span("enqueue");
    expect(sent.attributes).toMatchObject({
      "messaging.batch.message_count": 2,
      "leasehold.created": 2,
    });
    for (const name of ["process job", "process other"]) {
      expect(sdk.span(name).links[0]?.context.spanId).toBe(sent.spanContext().spanId);
    }
  });

  test.runIf(backend === "postgres")("a worker, start and a transaction do the same", async () => {
    const worker = leasehold.work({ poll: 100 });
    const ended = deferred();
    leasehold.on("completed", ({ kind }) => kind === "other" && ended.resolve());
    await leasehold.start(job, "a");
    const client = await db.pool.connect();
    await client.query("begin");
    await leasehold.enqueue(other, {}, { tx: client });
    await client.query("commit");
    client.release();
    await ended.promise;
    await worker.stop();
    await leasehold.close();
    for (const kind of ["job", "other"]) {
      const [link] = sdk.span(`process ${kind}`).links;
      expect(link?.context.spanId).toBe(sdk.span(`enqueue ${kind}`).spanContext().spanId);
    }
  });

  test("baggage goes with the job, unless there is too much of it", async () => {
    const heard: unknown[] = [];
    act = () => heard.push(propagation.getActiveBaggage()?.getEntry("tenant")?.value.length);
    const enqueueWith = (payload: string, length: number) => {
      const baggage = propagation.createBaggage({ tenant: { value: "x".repeat(length) } });
      return context.with(propagation.setBaggage(context.active(), baggage), () =>
        leasehold.enqueue(job, payload),
      );
    };
    await enqueueWith("a", 10);
    await leasehold.drain();
    await enqueueWith("b", 4_090);
    await leasehold.drain();
    expect(heard).toEqual([10, undefined]);
    expect(
      sdk.spans.filter((span) => span.name === "process job" && span.links.length === 1),
    ).toHaveLength(2);
  });

  test("what failed says so: the last attempt, one that is tried again, one whose claim was lost", async () => {
    const thrown = new PermanentError("no such file", { code: "NO_FILE" });
    act = async (own) => {
      if (own.key === "fails") throw thrown;
      if (own.key === "retried" && own.attempt === 1) throw new TypeError("odd");
      if (own.key !== "lost") return;
      await age(db, own.id, 600_000);
      await db.database.call("reap", {});
    };
    for (const key of ["fails", "retried", "lost"]) await leasehold.enqueue(job, key);
    await leasehold.drain();
    const attempts = sdk.spans.filter(({ name }) => name === "process job");
    const told = attempts.map(({ attributes, status }) => [
      ...[attributes["leasehold.outcome"], attributes["error.type"], status.code],
    ]);
    expect(told).toEqual([
      ["failed", "NO_FILE", SpanStatusCode.ERROR],
      ["retried", "TypeError", SpanStatusCode.ERROR],
      ["lost", "LOST", SpanStatusCode.ERROR],
    ]);
    expect(attempts[0]?.events[0]?.attributes).toMatchObject({
      "exception.message": "no such file",
      "exception.stacktrace": expect.stringContaining("traces.test.ts"),
    });
  });

  test("an enqueue that is refused is told, and so is the error", async () => {
    const refused = leasehold.enqueue(job, "a", { once: "" });
    await expect(refused).rejects.toMatchObject({ code: "LH002" });
    await db.query("alter function leasehold.enqueue(text, jsonb, jsonb) rename to gone");
    await expect(leasehold.enqueue(job, "a")).rejects.toThrow();
    await db.query("alter function leasehold.gone(text, jsonb, jsonb) rename to enqueue");
    expect(sdk.span("enqueue job")).toMatchObject({
      status: { code: SpanStatusCode.ERROR },
      attributes: { "error.type": "LH007" },
    });
  });
});
