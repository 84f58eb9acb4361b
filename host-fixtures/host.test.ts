import { expect, test } from "bun:test";
import { type LifecycleContext, RuntimeFailureError } from "../capability/index.ts";
import { startHost } from "./host.ts";
import { type TestPluginOptions, testPlugin, tracedPlugin } from "./testing/test-plugin.ts";

const chain = [
  { consumer: "app", requirement: "middle", provider: "middle" },
  { consumer: "middle", requirement: "base", provider: "base" },
];

/** Three instances in a row, `app` → `middle` → `base`, of which single steps can be replaced. */
function chained(events: string[], steps: Readonly<Record<string, TestPluginOptions>> = {}) {
  return {
    instances: {
      app: { plugin: tracedPlugin(events, { needs: ["middle"], ...steps.app }) },
      middle: { plugin: tracedPlugin(events, { needs: ["base"], ...steps.middle }) },
      base: { plugin: tracedPlugin(events, steps.base) },
    },
    bindings: chain,
  };
}

const rejecting = (error: Error) => () => Promise.reject(error);
const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

test("all instances are prepared, then activated, providers first, and deactivated in reverse", async () => {
  const events: string[] = [];
  const host = await startHost(chained(events));
  await host.stop();
  expect(events).toEqual([
    "prepare base",
    "prepare middle",
    "prepare app",
    "activate base",
    "activate middle",
    "activate app",
    "deactivate app",
    "deactivate middle",
    "deactivate base",
  ]);
});

test("a wrong composition starts nothing", async () => {
  const events: string[] = [];
  const started = startHost({ ...chained(events), bindings: chain.slice(1) });
  expect(await failureOf(started)).toMatchObject({ name: "HostError", code: "missing_binding" });
  expect(events).toEqual([]);
});

test("an instance that refuses its configuration passes its failure on, and nothing was prepared", async () => {
  const events: string[] = [];
  const instantiate = () => {
    throw new RuntimeFailureError("invalid_resolved_plan", "lease_seconds: expected an integer");
  };
  const error = await failureOf(startHost(chained(events, { app: { needs: ["middle"], instantiate } })));
  expect(error).toBeInstanceOf(RuntimeFailureError);
  expect(error).toMatchObject({
    kind: "invalid_resolved_plan",
    detail: 'instantiate of "app": lease_seconds: expected an integer',
  });
  expect(events).toEqual([]);
});

test("a plugin that announces a capability without an endpoint for it is refused before anything starts", async () => {
  const events: string[] = [];
  const plugin = tracedPlugin(events);
  const hollow = { ...plugin, instantiate: () => ({ endpoints: [] }) };
  const error = await failureOf(
    startHost({ instances: { ok: { plugin }, hollow: { plugin: hollow } }, bindings: [] }),
  );
  expect(error).toMatchObject({ code: "capability_mismatch" });
  expect(events).toEqual([]);
});

test("a failed prepare rolls back the prepared instances and the failing one, in reverse, once", async () => {
  const events: string[] = [];
  const prepare = rejecting(new RuntimeFailureError("unavailable", "no database"));
  const error = await failureOf(startHost(chained(events, { middle: { prepare } })));
  expect(error).toMatchObject({ kind: "unavailable", detail: 'prepare of "middle": no database' });
  expect(events).toEqual(["prepare base", "prepare middle", "deactivate middle", "deactivate base"]);
});

test("a plugin's failure keeps its kind and words when its copy of the package is another one", async () => {
  class RuntimeFailureError extends Error {
    override readonly name = "RuntimeFailureError";
    readonly kind = "invalid_resolved_plan";
    readonly detail = 'schema "jobs" does not exist';
  }
  const error = await failureOf(
    startHost(chained([], { middle: { prepare: rejecting(new RuntimeFailureError("")) } })),
  );
  const detail = 'prepare of "middle": schema "jobs" does not exist';
  expect(error).toMatchObject({ kind: "invalid_resolved_plan", detail });
});

test("a failed activate rolls back every prepared instance", async () => {
  const events: string[] = [];
  const cause = new Error("a bug");
  const error = await failureOf(startHost(chained(events, { base: { activate: rejecting(cause) } })));
  expect(error).toMatchObject({ kind: "plugin_failure", cause });
  expect((error as Error).message).not.toContain("a bug");
  expect(events.slice(3)).toEqual([
    "activate base",
    "deactivate app",
    "deactivate middle",
    "deactivate base",
  ]);
});

test("a roll-back tries every clean-up and reports all failures, the cause first", async () => {
  const events: string[] = [];
  const error = await failureOf(
    startHost(
      chained(events, {
        app: { needs: ["middle"], activate: rejecting(new RuntimeFailureError("internal", "first")) },
        middle: { needs: ["base"], deactivate: rejecting(new RuntimeFailureError("internal", "second")) },
        base: { deactivate: rejecting(new RuntimeFailureError("internal", "third")) },
      }),
    ),
  );
  expect(error).toBeInstanceOf(AggregateError);
  expect((error as AggregateError).errors.map((each: RuntimeFailureError) => each.detail)).toEqual([
    'activate of "app": first',
    'deactivate of "middle": second',
    'deactivate of "base": third',
  ]);
});

test("a step that outlives its time-out sees its signal abort, fails the start and is rolled back", async () => {
  const events: string[] = [];
  const prepare = ({ signal }: LifecycleContext) =>
    new Promise<void>(() => signal.addEventListener("abort", () => events.push("aborted")));
  const error = await failureOf(
    startHost({ ...chained(events, { base: { prepare } }), prepareTimeoutMs: 1 }),
  );
  expect(error).toMatchObject({
    kind: "deadline_exceeded",
    detail: 'prepare of "base" did not end before its deadline',
  });
  expect(events).toEqual(["prepare base", "aborted", "deactivate base"]);
});

test("a time-out that is none is refused", async () => {
  const error = await failureOf(startHost({ ...chained([]), stopTimeoutMs: Number.NaN }));
  expect(error).toMatchObject({
    code: "invalid_composition",
    message: "invalid_composition: stopTimeoutMs: expected milliseconds above 0, got NaN",
  });
});

test("stop runs once however often it is called", async () => {
  const events: string[] = [];
  const host = await startHost(chained(events));
  expect(host.stop()).toBe(host.stop());
  await Promise.all([host.stop(), host.stop()]);
  await host.stop();
  expect(events.filter((event) => event.startsWith("deactivate"))).toHaveLength(3);
});

test("stop tries every instance and reports what failed together", async () => {
  const events: string[] = [];
  const deactivate = rejecting(new RuntimeFailureError("internal", "stuck"));
  const host = await startHost(
    chained(events, { app: { needs: ["middle"], deactivate }, base: { deactivate } }),
  );
  expect(await failureOf(host.stop())).toMatchObject({
    message: 'internal: deactivate of "app": stuck; internal: deactivate of "base": stuck',
  });
  expect(events.slice(-3)).toEqual(["deactivate app", "deactivate middle", "deactivate base"]);
});

test("all instances share one deadline to deactivate, and one that is past it still gets its turn", async () => {
  const deadlines: number[] = [];
  const note = async ({ deadline }: LifecycleContext) => void deadlines.push(deadline);
  const hang = async (context: LifecycleContext) => {
    await note(context);
    await new Promise(() => {});
  };
  const host = await startHost({
    ...chained([], {
      app: { needs: ["middle"], deactivate: hang },
      middle: { needs: ["base"], deactivate: note },
      base: { deactivate: note },
    }),
    stopTimeoutMs: 1,
  });
  expect(await failureOf(host.stop())).toMatchObject({ kind: "deadline_exceeded" });
  expect(deadlines).toHaveLength(3);
  expect(new Set(deadlines).size).toBe(1);
});

test("a dependant may call its provider from the end of the provider's prepare", async () => {
  const answers: unknown[] = [];
  const prepare = async (context: LifecycleContext) => {
    answers.push(await context.handle("base")?.invoke("echo", "hello"));
  };
  const host = await startHost(chained([], { middle: { needs: ["base"], prepare } }));
  expect(answers).toEqual([{ kind: "success", value: "hello" }]);
  await host.stop();
});

test("handles come by requirement: one, an optional one or none, and many in the order of the composition", async () => {
  const needs = [
    "one",
    { id: "unbound", cardinality: "optional" },
    { id: "many", cardinality: "many" },
  ] as const;
  const named = (name: string) => ({
    plugin: testPlugin({ answer: async () => ({ kind: "success", value: name }) }),
  });
  const host = await startHost({
    instances: { app: { plugin: testPlugin({ needs }) }, x: named("x"), y: named("y") },
    bindings: [
      { consumer: "app", requirement: "many", provider: "y" },
      { consumer: "app", requirement: "one", provider: "x" },
      { consumer: "app", requirement: "many", provider: "x" },
    ],
  });
  const answersOf = (id: string) =>
    Promise.all(host.handles("app", id).map((handle) => handle.invoke("echo", {})));

  expect(await host.handle("app", "one")?.invoke("echo", {})).toEqual({ kind: "success", value: "x" });
  expect(host.handle("app", "unbound")).toBeUndefined();
  expect((await answersOf("many")).map((answer) => answer.kind === "success" && answer.value)).toEqual([
    "y",
    "x",
  ]);
  expect(() => host.handle("app", "many")).toThrow(expect.objectContaining({ code: "ambiguous_binding" }));
  expect(() => host.handle("app", "other")).toThrow(
    expect.objectContaining({ code: "undeclared_requirement" }),
  );
  expect(() => host.handle("nobody", "one")).toThrow(expect.objectContaining({ code: "missing_instance" }));
  await host.stop();
});
