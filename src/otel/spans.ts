import {
  type Attributes,
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace as tracing,
} from "@opentelemetry/api";
import { describeError } from "../describe-error.ts";
import type { TraceContext } from "../job.ts";
import type { EnqueueAnswer } from "../queue.ts";
import type { AttemptEnd, AttemptStart, Send } from "../telemetry.ts";
import {
  attemptErrorType,
  destination,
  enqueueOperation,
  errorType,
  processOperation,
} from "./conventions.ts";

/** What the W3C's trace context takes at the most; the database keeps 8 kB in all. */
const maxBaggageLength = 4_096;

/** Producer spans around enqueues, consumer spans around attempts, and the context between them. */
export class Spans {
  readonly #tracer: Tracer;
  readonly #attempts: "link" | "child";

  constructor(tracer: Tracer, attempts: "link" | "child") {
    this.#tracer = tracer;
    this.#attempts = attempts;
  }

  /** Sends, within a producer span. Rejects as `send` does. */
  async enqueue(kinds: readonly string[], send: Send): Promise<void> {
    const target = destination(kinds);
    const span = this.#tracer.startSpan(nameOf("enqueue", target), {
      kind: SpanKind.PRODUCER,
      attributes: { ...enqueueOperation, ...target, ...batchOf(kinds) },
    });
    const within = tracing.setSpan(context.active(), span);
    try {
      const answers = await context.with(within, () => send(carried(within)));
      span.setAttributes(answered(answers));
    } catch (error) {
      failed(span, error);
      throw error;
    } finally {
      span.end();
    }
  }

  /** Runs an attempt within a consumer span, which ends with the handler. Rejects as `run` does. */
  async attempt(attempt: AttemptStart, run: () => Promise<AttemptEnd>): Promise<AttemptEnd> {
    const { traceContext, ...job } = attempt;
    const sent = propagation.extract(ROOT_CONTEXT, traceContext ?? {});
    const sender = tracing.getSpanContext(sent);
    // What was sent beside the trace, as baggage, goes with the job either way.
    const parent = this.#attempts === "child" ? sent : tracing.deleteSpan(sent);
    const began = Date.now();
    const target = destination([job.kind]);
    const span = this.#tracer.startSpan(
      nameOf("process", target),
      {
        kind: SpanKind.CONSUMER,
        startTime: began,
        links: sender === undefined ? [] : [{ context: sender }],
        attributes: {
          ...processOperation,
          ...target,
          "messaging.message.id": job.id,
          "leasehold.attempt": job.attempt,
          "leasehold.generation": job.generation,
          "leasehold.run_after": job.runAfter,
          ...(job.key !== null && { "leasehold.key": job.key }),
        },
      },
      parent,
    );
    let endedAt: number | undefined;
    try {
      const ended = await context.with(tracing.setSpan(parent, span), run);
      endedAt = began + ended.finished.durationMs;
      tell(span, ended);
      return ended;
    } catch (error) {
      failed(span, error);
      throw error;
    } finally {
      span.end(endedAt);
    }
  }
}

function nameOf(operation: string, target: Attributes): string {
  const kind = target["messaging.destination.name"];
  return kind === undefined ? operation : `${operation} ${kind}`;
}

function batchOf(kinds: readonly string[]): Attributes {
  return kinds.length === 1 ? {} : { "messaging.batch.message_count": kinds.length };
}

/** The headers of the span; without baggage that is too large to be kept. */
function carried(within: Context): TraceContext {
  const headers: Record<string, string> = {};
  propagation.inject(within, headers);
  const { baggage, ...rest } = headers;
  return (baggage?.length ?? 0) > maxBaggageLength ? rest : headers;
}

/** What became of one job; of many, how many were created. */
function answered(answers: readonly EnqueueAnswer[]): Attributes {
  const [first] = answers;
  if (first === undefined || answers.length > 1) {
    const created = answers.filter(({ outcome }) => outcome === "created").length;
    return { "leasehold.created": created };
  }
  return {
    "leasehold.outcome": first.outcome,
    ...("id" in first && { "messaging.message.id": first.id }),
  };
}

function tell(span: Span, { finished, error }: AttemptEnd): void {
  const { outcome, code } = finished;
  span.setAttribute("leasehold.outcome", outcome);
  if (code !== undefined) span.setAttribute("leasehold.code", code);
  const type = attemptErrorType(finished);
  if (type["error.type"] === undefined) return;
  span.setAttributes(type);
  span.setStatus({ code: SpanStatusCode.ERROR, message: error?.message ?? outcome });
  if (error === undefined) return;
  const { name, stack } = error.details ?? {};
  span.recordException({
    code: error.code,
    message: error.message,
    ...(typeof name === "string" && { name }),
    ...(typeof stack === "string" && { stack }),
  });
}

function failed(span: Span, error: unknown): void {
  span.setAttributes(errorType(error));
  span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error).message });
}
