import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { context, metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import * as v from "valibot";
import { createTaskQueue } from "./create-task-queue.ts";
import { defineTask } from "./define-task.ts";
import { MemoryProvider } from "./testing/memory-provider.ts";

const spans = new InMemorySpanExporter();
const measured = new InMemoryMetricExporter(AggregationTemporality.DELTA);
const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 });

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
  );
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
});
beforeEach(() => {
  spans.reset();
});
afterAll(async () => {
  await reader.shutdown();
  for (const api of [trace, metrics, context]) api.disable();
});

const task = defineTask({
  name: "traced",
  input: v.object({ fail: v.boolean() }),
  handler: ({ fail }) => {
    trace.getTracer("app").startSpan("work").end();
    if (fail) throw new Error("password=hunter2");
  },
  maxAttempts: 1,
});

test("an attempt is a root span of its own, linked to the enqueue that stored its traceparent", async () => {
  const provider = new MemoryProvider();
  const queue = createTaskQueue({ provider, tasks: [task] });
  await trace.getTracer("app").startActiveSpan("request", async (span) => {
    await queue.enqueue(task, { fail: false });
    span.end();
  });
  const { traceparent } = provider.enqueued[0] ?? {};
  expect(traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);

  await queue.runBatch();
  const [request, produce, run, work] = ["request", "enqueue traced", "run traced", "work"].map((name) => {
    const found = spans.getFinishedSpans().find((span) => span.name === name);
    if (!found) throw new Error(`no span ${name}`);
    return found;
  });
  expect(produce?.kind).toBe(SpanKind.PRODUCER);
  expect(produce?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId as string);
  expect(run?.kind).toBe(SpanKind.CONSUMER);
  expect(run?.parentSpanContext).toBeUndefined();
  expect(run?.links.map((link) => link.context.spanId)).toEqual([produce?.spanContext().spanId as string]);
  expect(run?.attributes).toMatchObject({
    "lenso.task": "traced",
    "lenso.attempt": 1,
    "lenso.outcome": "succeeded",
  });
  expect(work?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId as string);
});

test("attempts are counted and timed by outcome, and no span holds an error's words", async () => {
  measured.reset();
  const queue = createTaskQueue({ provider: new MemoryProvider(), tasks: [task] });
  for (const fail of [true, false, true]) await queue.enqueue(task, { fail });
  await reader.forceFlush();
  measured.reset();
  await queue.runBatch();
  await reader.forceFlush();
  const points = measured
    .getMetrics()
    .flatMap((resource) => resource.scopeMetrics.flatMap((scope) => scope.metrics))
    .flatMap(({ descriptor, dataPoints }) =>
      dataPoints.map(({ attributes, value }) => [
        descriptor.name,
        attributes["lenso.outcome"],
        typeof value === "number" ? value : (value as { count: number }).count,
      ]),
    );
  expect(points).toContainEqual(["lenso.tasks.attempts", "handler-failed", 2]);
  expect(points).toContainEqual(["lenso.tasks.attempts", "succeeded", 1]);
  expect(points).toContainEqual(["lenso.tasks.attempt.duration", "handler-failed", 2]);
  const failed = spans.getFinishedSpans().filter(({ status }) => status.code === SpanStatusCode.ERROR);
  expect(failed.map(({ status }) => status.message)).toEqual(["handler-failed", "handler-failed"]);
  expect(
    JSON.stringify(spans.getFinishedSpans().map(({ attributes, events }) => [attributes, events])),
  ).not.toContain("hunter2");
});

test("an enqueue that fails ends its span with an error and without its words", async () => {
  const provider = new MemoryProvider();
  provider.enqueue = () => Promise.reject(new Error("password=hunter2"));
  const queue = createTaskQueue({ provider, tasks: [task] });
  await queue.enqueue(task, { fail: false }).catch(() => {});
  const [span] = spans.getFinishedSpans();
  expect(span?.status).toEqual({ code: SpanStatusCode.ERROR });
  expect(JSON.stringify(span?.events)).not.toContain("hunter2");
});

test("a traceparent that is none is left out", async () => {
  const provider = new MemoryProvider();
  const queue = createTaskQueue({ provider, tasks: [task] });
  await queue.enqueue(task, { fail: false });
  const fetch = provider.backend.fetch.bind(provider.backend);
  provider.backend.fetch = async (count) =>
    (await fetch(count)).map((claim) => ({ ...claim, traceparent: "00-0-0-zz" }));
  await queue.runBatch();
  const run = spans.getFinishedSpans().find(({ name }) => name === "run traced");
  expect(run?.links).toEqual([]);
});
