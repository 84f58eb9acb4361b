type Api = typeof import("@opentelemetry/api");
type Span = import("@opentelemetry/api").Span;
type Attributes = Readonly<Record<string, string | number>>;

/** Spans and measurements of one side of a queue; without OpenTelemetry in the process each is a plain call. */
export interface Telemetry {
  /** Runs an enqueue in a producer span. `traceparent` belongs with the job, so that its attempts can point back. */
  produce<T>(task: string, send: (traceparent: string | undefined) => Promise<T>): Promise<T>;
  /** Runs an attempt in a root span of its own, linked to the enqueue, and counts and times it by outcome. */
  attempt<T>(attempt: TracedAttempt, run: () => Promise<T>, outcomeOf: (value: T) => string): Promise<T>;
}

export interface TracedAttempt {
  readonly task: string;
  readonly jobId: string;
  readonly attempt: number;
  readonly traceparent?: string;
}

/** Loads `@opentelemetry/api`, once a process. Where it is not installed everything is a no-op. */
export function loadTelemetry(): Promise<Telemetry> {
  loaded ??= import("@opentelemetry/api").then(createTelemetry, () => silent);
  return loaded;
}

let loaded: Promise<Telemetry> | undefined;

const silent: Telemetry = {
  produce: (_task, send) => send(undefined),
  attempt: (_attempt, run) => run(),
};

const scope = "lenso-jobs-plugin/tasks";

function createTelemetry(api: Api): Telemetry {
  const instruments = measuring(api);
  return {
    produce(task, send) {
      const options = { kind: api.SpanKind.PRODUCER, attributes: { "lenso.task": task } };
      return api.trace
        .getTracer(scope)
        .startActiveSpan(`enqueue ${task}`, options, (span) =>
          spanning(api, span, () => send(traceparentOf(api, span))),
        );
    },
    attempt({ task, jobId, attempt, traceparent }, run, outcomeOf) {
      const enqueue = contextOf(api, traceparent);
      const options = {
        kind: api.SpanKind.CONSUMER,
        root: true,
        links: enqueue ? [{ context: enqueue }] : [],
        attributes: { "lenso.task": task, "lenso.job_id": jobId, "lenso.attempt": attempt },
      };
      const began = performance.now();
      const settle = (span: Span, outcome: string): void => {
        span.setAttribute("lenso.outcome", outcome);
        if (outcome !== "succeeded") span.setStatus({ code: api.SpanStatusCode.ERROR, message: outcome });
        instruments().record((performance.now() - began) / 1000, {
          "lenso.task": task,
          "lenso.outcome": outcome,
        });
      };
      return api.trace.getTracer(scope).startActiveSpan(`run ${task}`, options, (span) =>
        spanning(api, span, async () => {
          const value = await run();
          settle(span, outcomeOf(value));
          return value;
        }),
      );
    },
  };
}

async function spanning<T>(api: Api, span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.setStatus({ code: api.SpanStatusCode.ERROR }); // no message: a driver's may hold anything
    throw error;
  } finally {
    span.end();
  }
}

/** The instruments of the meter provider in force: unlike the tracer, the API gives a meter that was asked for early no second chance. */
function measuring(api: Api): () => { record(seconds: number, attributes: Attributes): void } {
  let provider: unknown;
  let current: { record(seconds: number, attributes: Attributes): void };
  return () => {
    if (provider === api.metrics.getMeterProvider()) return current;
    provider = api.metrics.getMeterProvider();
    const meter = api.metrics.getMeter(scope);
    const count = meter.createCounter("lenso.tasks.attempts", { description: "Attempts by outcome." });
    const time = meter.createHistogram("lenso.tasks.attempt.duration", {
      unit: "s",
      description: "Time of an attempt.",
    });
    current = {
      record(seconds, attributes) {
        count.add(1, attributes);
        time.record(seconds, attributes);
      },
    };
    return current;
  };
}

function traceparentOf(api: Api, span: Span): string | undefined {
  const context = span.spanContext();
  if (!api.isSpanContextValid(context)) return undefined;
  return `00-${context.traceId}-${context.spanId}-${context.traceFlags.toString(16).padStart(2, "0")}`;
}

function contextOf(api: Api, traceparent: string | undefined) {
  const [, traceId = "", spanId = "", flags = ""] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? "") ?? [];
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return api.isSpanContextValid(context) ? context : undefined;
}
