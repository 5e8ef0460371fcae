import { type Attributes, context, propagation } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  CompositePropagator,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

/** The real SDK, with exporters in memory. Context and propagation are the process's. */
export class Sdk {
  readonly #exporter = new InMemorySpanExporter();
  readonly tracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#exporter)],
  });
  readonly #metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  readonly meterProvider = new MeterProvider({
    readers: [
      new PeriodicExportingMetricReader({
        exporter: this.#metrics,
        exportIntervalMillis: 3_600_000,
      }),
    ],
  });

  constructor() {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(
      new CompositePropagator({
        propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
      }),
    );
  }

  get spans(): readonly ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  /** The one span of this name. */
  span(name: string): ReadableSpan {
    const found = this.spans.filter((span) => span.name === name);
    if (found.length === 1 && found[0] !== undefined) return found[0];
    throw new Error(`${found.length} spans ${name} among: ${this.spans.map((span) => span.name)}`);
  }

  /** What is collected of a metric now: its unit, and each value with its attributes. */
  async metric(name: string): Promise<{ unit: string; values: Value[] }> {
    this.#metrics.reset();
    await this.meterProvider.forceFlush();
    const [all] = this.#metrics.getMetrics();
    const metric = all?.scopeMetrics
      .flatMap((scope) => scope.metrics)
      .find((each) => each.descriptor.name === name);
    if (metric === undefined) return { unit: "", values: [] };
    const values = metric.dataPoints.map(({ attributes, value }) => ({
      attributes,
      value: typeof value === "object" ? (value as { count: number }).count : value,
    }));
    return { unit: metric.descriptor.unit, values };
  }

  async stop(): Promise<void> {
    await Promise.all([this.tracerProvider.shutdown(), this.meterProvider.shutdown()]);
    context.disable();
    propagation.disable();
  }
}

/** A value of a metric; of a histogram, how many there were. */
export interface Value {
  readonly attributes: Attributes;
  readonly value: number;
}
