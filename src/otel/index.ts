/**
 * Traces and metrics by OpenTelemetry: pass `otel()` as `telemetry` to createLeasehold. Needs
 * @opentelemetry/api, and does nothing visible until an SDK is registered with it.
 */
import {
  type MeterProvider,
  metrics,
  type TracerProvider,
  trace as tracing,
} from "@opentelemetry/api";
import { invalidArgument } from "../errors.ts";
import { knownOptions } from "../options.ts";
import type { Telemetry } from "../telemetry.ts";
import { Measurements } from "./measurements.ts";
import { observeQueue } from "./queue-gauges.ts";
import { Spans } from "./spans.ts";

/** What `otel` takes; all of it is optional. */
export interface OtelOptions {
  /**
   * "link", the default: each attempt begins a trace of its own, with a link to the span that enqueued the
   * job. "child": the attempts are part of the trace that enqueued it, however much later they run.
   */
  attempts?: "link" | "child";
  /**
   * Whether this client asks the database for the state of the queue, once each time that metrics are
   * collected. Every process that does tells of the same queue; one is enough. Default true.
   */
  queue?: boolean;
  /** Default: the global one. */
  tracerProvider?: TracerProvider;
  /** Default: the global one. */
  meterProvider?: MeterProvider;
}

const name = "leasehold";

/** Makes the `telemetry` of a client. Throws LH002 and LH003 for options. */
export function otel(options: OtelOptions = {}): Telemetry {
  knownOptions("otel", options, ["attempts", "queue", "tracerProvider", "meterProvider"]);
  const { attempts = "link", queue = true } = options;
  if (attempts !== "link" && attempts !== "child") {
    throw invalidArgument("attempts", attempts, '"link" or "child"');
  }
  if (typeof queue !== "boolean") throw invalidArgument("queue", queue, "true or false");
  const meter = (options.meterProvider ?? metrics.getMeterProvider()).getMeter(name);
  const tracer = (options.tracerProvider ?? tracing.getTracerProvider()).getTracer(name);
  const measurements = new Measurements(meter);
  const spans = new Spans(tracer, attempts);
  return {
    attach: ({ database }) => (queue ? observeQueue(meter, database) : undefined),
    enqueue(kinds, send) {
      const ended = measurements.sending(kinds);
      spans.enqueue(kinds, send).then(
        () => ended(),
        (error: unknown) => ended(error),
      );
    },
    attempt(attempt, run) {
      measurements.consumed(attempt.kind);
      // What an attempt rejects with is its worker's to tell.
      spans.attempt(attempt, run).then(
        ({ finished }) => measurements.processed(finished),
        () => undefined,
      );
    },
    called: (call) => measurements.called(call),
  };
}
