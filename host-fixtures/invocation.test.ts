import { expect, test } from "bun:test";
import type {
  CapabilityDescriptor,
  CapabilityHandle,
  CapabilityProviderBinding,
  InvocationContext,
  LifecycleContext,
  ProviderDispatchOutcome,
} from "../capability/index.ts";
import { type HostOptions, startHost } from "./host.ts";
import { type Member, openHandle } from "./invocation.ts";
import { type TestPluginOptions, testPlugin } from "./testing/test-plugin.ts";

type Answer = CapabilityProviderBinding["invokeRequest"];

const success = (value: unknown): ProviderDispatchOutcome => ({ kind: "success", value });
const failed = (kind: string) =>
  ({ kind: "runtime", failure: { kind, detail: expect.any(String) } }) as never;

/** A host of one consumer and one provider, and the consumer's handle from outside. */
async function setup(
  answer: Answer,
  more: {
    consumer?: TestPluginOptions;
    provider?: TestPluginOptions;
    host?: Partial<HostOptions>;
    capability?: string;
  } = {},
) {
  const capability = more.capability ?? "test.echo@1";
  const needs = [{ id: "provider", capability }];
  const host = await startHost({
    instances: {
      consumer: { plugin: testPlugin({ provides: {}, needs, ...more.consumer }) },
      provider: { plugin: testPlugin({ provides: { [capability]: "1.0.0" }, answer, ...more.provider }) },
    },
    bindings: [{ consumer: "consumer", requirement: "provider", provider: "provider" }],
    ...more.host,
  });
  return { host, handle: host.handle("consumer", "provider") as CapabilityHandle };
}

/** An answer that waits until the test gives it. */
function held() {
  const entered = Promise.withResolvers<InvocationContext>();
  const reply = Promise.withResolvers<ProviderDispatchOutcome>();
  const answer: Answer = (_operation, context) => {
    entered.resolve(context);
    return reply.promise;
  };
  return { answer, entered: entered.promise, reply: reply.resolve };
}

test("a call carries the consumer's key and a number of its own, whatever the payload says", async () => {
  const contexts: InvocationContext[] = [];
  const { host, handle } = await setup(async (_operation, context, payload) => {
    contexts.push(context);
    return success(payload);
  });
  expect(await handle.invoke("echo", { callerInstance: "admin" })).toEqual(
    success({ callerInstance: "admin" }),
  );
  await handle.invoke("echo", {});
  expect(contexts).toEqual([
    { requestId: "1", callerInstance: "consumer", cancelled: false },
    { requestId: "2", callerInstance: "consumer", cancelled: false },
  ]);
  await host.stop();
});

test("a provider that throws is a plugin_failure, and its text stays inside", async () => {
  const { host, handle } = await setup(() => {
    throw new TypeError("canary");
  });
  const outcome = await handle.invoke("echo", {});
  expect(outcome).toEqual(failed("plugin_failure"));
  expect(JSON.stringify(outcome)).not.toContain("canary");
  await host.stop();
});

test("a time-out reaches the provider as the duration left and ends in deadline_exceeded", async () => {
  const { answer, entered } = held();
  const { host, handle } = await setup(answer);
  const outcome = handle.invoke("echo", {}, { timeoutMs: 20 });
  const context = await entered;
  expect(context).toMatchObject({ deadline: "PT0.020S", cancelled: false });
  expect(await outcome).toEqual(failed("deadline_exceeded"));
  expect(context.signal?.aborted).toBe(true);
  await host.stop();
});

test("a provider that only knows that it was aborted does not hide the deadline", async () => {
  const { answer, entered, reply } = held();
  const { host, handle } = await setup(answer);
  const outcome = handle.invoke("echo", {}, { timeoutMs: 1 });
  const { signal } = await entered;
  signal?.addEventListener("abort", () =>
    reply({ kind: "runtime", failure: { kind: "cancelled", detail: "" } }),
  );
  expect(await outcome).toEqual(failed("deadline_exceeded"));
  await host.stop();
});

test("a caller that gives up gets cancelled, and the provider's signal aborts", async () => {
  const { answer, entered } = held();
  const { host, handle } = await setup(answer);
  const caller = new AbortController();
  const outcome = handle.invoke("echo", {}, { signal: caller.signal });
  const context = await entered;
  caller.abort();
  expect(context.signal?.aborted).toBe(true);
  expect(await outcome).toEqual(failed("cancelled"));
  await host.stop();
});

test("an answer in the same turn as the cancellation is delivered", async () => {
  const { answer, entered, reply } = held();
  const { host, handle } = await setup(answer);
  const caller = new AbortController();
  const outcome = handle.invoke("echo", {}, { signal: caller.signal });
  (await entered).signal?.addEventListener("abort", () => queueMicrotask(() => reply(success("done"))));
  caller.abort();
  expect(await outcome).toEqual(success("done"));
  await host.stop();
});

test("a provider learns that its caller had given up before it was entered", async () => {
  const { answer, entered } = held();
  const { host, handle } = await setup(answer);
  const outcome = handle.invoke("echo", {}, { signal: AbortSignal.abort() });
  expect(await entered).toMatchObject({ cancelled: true, signal: { aborted: true } });
  expect(await outcome).toEqual(failed("cancelled"));
  await host.stop();
});

test("a time-out that is no number is refused before the provider", async () => {
  const { host, handle } = await setup(() => Promise.reject(new Error("entered")));
  expect(await handle.invoke("echo", {}, { timeoutMs: Number.NaN })).toEqual(failed("protocol_violation"));
  await host.stop();
});

test("a provider whose prepare has not ended is unavailable", async () => {
  const descriptor = testPlugin().capabilities[0] as CapabilityDescriptor;
  const endpoint = { descriptor, invokeRequest: () => Promise.reject(new Error("entered")) };
  const member = (key: string): Member => ({ key, instance: { endpoints: [endpoint] }, phase: "unprepared" });
  const admission = {
    closing: false,
    closeFirst: new Set<string>(),
    waits: new Set<AbortController>(),
    calls: 0,
  };
  const link = { admission, consumer: member("a"), provider: member("b"), endpoint, outside: false };
  expect(await openHandle(link).invoke("echo", {})).toEqual(failed("unavailable"));
});

test("an instance's own calls go out until its deactivate has ended, and calls from outside until stop begins", async () => {
  const outcomes: unknown[] = [];
  let own: CapabilityHandle | undefined;
  const { host, handle } = await setup(async () => success("still here"), {
    consumer: {
      async deactivate(context: LifecycleContext) {
        own = context.handle("provider");
        outcomes.push(await own?.invoke("echo", {}), await handle.invoke("echo", {}));
      },
    },
    provider: {
      async deactivate() {
        outcomes.push(await own?.invoke("echo", {}));
      },
    },
  });
  await host.stop();
  expect(outcomes).toEqual([success("still here"), failed("admission_closed"), failed("admission_closed")]);
});

test("a stopping host admits no new claim while completes still go through", async () => {
  const outcomes: unknown[] = [];
  const { host } = await setup(async (operation) => success(operation), {
    capability: "lenso.jobs@1",
    consumer: {
      async deactivate(context) {
        const jobs = context.handle("provider");
        outcomes.push(await jobs?.invoke("claim", {}), await jobs?.invoke("complete", {}));
      },
    },
  });
  await host.stop();
  expect(outcomes).toEqual([failed("admission_closed"), success("complete")]);
});

test("closeFirst replaces what a stopping host closes for everybody", async () => {
  const outcomes: unknown[] = [];
  const { host } = await setup(async (operation) => success(operation), {
    consumer: {
      async deactivate(context) {
        outcomes.push(await context.handle("provider")?.invoke("echo", {}));
      },
    },
    host: { closeFirst: ["test.echo@1/echo"] },
  });
  await host.stop();
  expect(outcomes).toEqual([failed("admission_closed")]);
});

test("a wait that is pending when the host stops answers null before anything is deactivated", async () => {
  const { answer, entered } = held();
  const events: string[] = [];
  let pending: Promise<unknown> | undefined;
  const { host, handle } = await setup(answer, {
    capability: "lenso.jobs-signals@1",
    consumer: {
      async activate(context) {
        pending = context.handle("provider")?.invoke("wait", {}, { timeoutMs: 60_000 });
      },
      async deactivate() {
        events.push(JSON.stringify(await pending));
      },
    },
    provider: { deactivate: async () => void events.push("provider deactivated") },
  });
  await entered;
  await host.stop();
  expect(events).toEqual(['{"kind":"success","value":{"queue":null}}', "provider deactivated"]);
  expect((await entered).signal?.aborted).toBe(true);
  expect(await handle.invoke("wait", {})).toEqual(failed("admission_closed"));
});

test("a wait whose provider answers the abort of the stop with cancelled is null all the same", async () => {
  const { answer, entered, reply } = held();
  const { host, handle } = await setup(answer, { capability: "lenso.jobs-signals@1" });
  const pending = handle.invoke("wait", {});
  const { signal } = await entered;
  signal?.addEventListener("abort", () =>
    reply({ kind: "runtime", failure: { kind: "cancelled", detail: "" } }),
  );
  await host.stop();
  expect(await pending).toEqual(success({ queue: null }));
});

test("a wait that its caller gives up is cancelled", async () => {
  const { answer, entered } = held();
  const { host, handle } = await setup(answer, { capability: "lenso.jobs-signals@1" });
  const caller = new AbortController();
  const pending = handle.invoke("wait", {}, { signal: caller.signal });
  await entered;
  caller.abort();
  expect(await pending).toEqual(failed("cancelled"));
  await host.stop();
});
