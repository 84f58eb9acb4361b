import { expect, test } from "bun:test";
import type { AppPlugin, SetupContext } from "../../capability/index.ts";
import { HostError } from "../host-error.ts";
import { startApp } from "./start-app.ts";

/** A plugin whose value is its id, and that writes its set-up and clean-up down. */
function traced(events: string[], id: string, requires: readonly AppPlugin[] = []): AppPlugin<string> {
  return {
    id,
    requires,
    async setup(context) {
      events.push(`+${id}`);
      context.onCleanup(async () => {
        await Promise.resolve();
        events.push(`-${id}`);
      });
      await Promise.resolve();
      return id;
    },
  };
}

function plugin(id: string, setup: (context: SetupContext) => unknown, ...requires: AppPlugin[]): AppPlugin {
  return { id, requires, setup };
}

const failing = (id: string, message: string): AppPlugin =>
  plugin(id, (context) => context.onCleanup(() => Promise.reject(new Error(message))));

test("plugins are set up one after the other, each after what it requires, and cleaned up in reverse", async () => {
  const events: string[] = [];
  const a = traced(events, "a");
  const b = traced(events, "b", [a]);
  const c = traced(events, "c", [b, a]);
  const app = await startApp({ plugins: [c, traced(events, "d"), b, a] });
  expect(app.get(c)).toBe("c");
  await app.stop();
  expect(events).toEqual(["+a", "+b", "+c", "+d", "-d", "-c", "-b", "-a"]);
});

test("a set-up does not begin before the one ahead of it has ended", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const events: string[] = [];
  const slow = plugin("slow", async () => {
    await promise;
    events.push("slow");
  });
  const started = startApp({ plugins: [slow, plugin("next", () => events.push("next"))] });
  await new Promise((turn) => setImmediate(turn));
  expect(events).toEqual([]);
  resolve();
  await started;
  expect(events).toEqual(["slow", "next"]);
});

test("a set-up gets the values of its requirements and of nothing else", async () => {
  const settings: AppPlugin<{ port: number }> = { id: "settings", requires: [], setup: () => ({ port: 1 }) };
  const reader = plugin("reader", (context) => context.get(settings).port, settings);
  const app = await startApp({ plugins: [settings, reader] });
  expect(app.get(reader)).toBe(1);
  await app.stop();

  const stranger = plugin("stranger", (context) => context.get(settings));
  const refused = await startApp({ plugins: [settings, stranger] }).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: "undeclared_requirement",
    message: expect.stringContaining('"stranger" does not list "settings"'),
  });
});

test("a value may be undefined, and a plugin that is not part of the application is refused", async () => {
  const nothing = plugin("nothing", () => undefined);
  const app = await startApp({ plugins: [nothing] });
  expect(app.get(nothing)).toBeUndefined();
  expect(() => app.get(plugin("nothing", () => 1))).toThrow(
    expect.objectContaining({ code: "missing_plugin" }),
  );
  await app.stop();
  expect(() => app.get(nothing)).toThrow(expect.objectContaining({ code: "app_stopped" }));
});

test("every call of stop gets the one run", async () => {
  const events: string[] = [];
  const app = await startApp({ plugins: [traced(events, "a")] });
  const first = app.stop();
  expect(app.stop()).toBe(first);
  await first;
  expect(app.stop()).toBe(first);
  expect(events).toEqual(["+a", "-a"]);
});

test("every finaliser is tried: one failure is thrown as itself, several together", async () => {
  const events: string[] = [];
  const one = await startApp({ plugins: [traced(events, "a"), failing("b", "b"), traced(events, "c")] });
  await expect(one.stop()).rejects.toThrow(/^b$/);
  expect(events).toEqual(["+a", "+c", "-c", "-a"]);

  const two = await startApp({ plugins: [failing("a", "a"), failing("b", "b")] });
  const failure = await two.stop().catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(AggregateError);
  expect((failure as AggregateError).errors.map(String)).toEqual(["Error: b", "Error: a"]);
});

test("a start that fails is rolled back, what the failed set-up registered included", async () => {
  const events: string[] = [];
  const broken = plugin("broken", (context) => {
    context.onCleanup(() => void events.push("-broken"));
    throw new Error("no start");
  });
  const plugins = [traced(events, "a"), broken, traced(events, "never")];
  await expect(startApp({ plugins })).rejects.toThrow(/^no start$/);
  expect(events).toEqual(["+a", "-broken", "-a"]);
});

test("a roll-back that fails as well tells both, the cause first", async () => {
  const broken = plugin("broken", () => Promise.reject(new Error("no start")));
  const failure = await startApp({ plugins: [failing("a", "a"), broken] }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(AggregateError);
  expect((failure as AggregateError).errors.map(String)).toEqual(["Error: no start", "Error: a"]);
});

test("once its set-up has ended, well or not, a plugin registers no clean-up", async () => {
  let kept: SetupContext | undefined;
  const keeper = plugin("keeper", (context) => {
    kept = context;
  });
  const app = await startApp({ plugins: [keeper] });
  expect(() => kept?.onCleanup(() => undefined)).toThrow(expect.objectContaining({ code: "setup_ended" }));
  await app.stop();

  const broken = plugin("broken", (context) => {
    kept = context;
    throw new Error("no start");
  });
  await expect(startApp({ plugins: [broken] })).rejects.toThrow("no start");
  expect(() => kept?.onCleanup(() => undefined)).toThrow(expect.objectContaining({ code: "setup_ended" }));
});

test("a clean-up that is no function is refused where it is registered", async () => {
  const wrong = plugin("wrong", (context) => context.onCleanup(undefined as never));
  await expect(startApp({ plugins: [wrong] })).rejects.toThrow(/"wrong": expected a function, got undefined/);
});

test("mistakes are refused together, before anything is set up", async () => {
  const events: string[] = [];
  const a = traced(events, "a");
  const twin = traced(events, "a");
  const failure = await startApp({
    plugins: [a, twin, traced(events, "b", [traced(events, "absent"), twin]), { id: "c" } as never],
  }).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(HostError);
  expect((failure as HostError).problems).toEqual([
    { code: "duplicate_plugin", message: 'plugins[1]: id "a" stands there twice' },
    { code: "invalid_plugin", message: "plugins[3]: expected { id, requires, setup }, got object" },
    { code: "missing_plugin", message: '"b" requires "absent", which is not among the plugins' },
    { code: "missing_plugin", message: '"b" requires another plugin of the id "a"' },
  ]);
  expect(events).toEqual([]);
});

test("a cycle is refused before anything is set up", async () => {
  const events: string[] = [];
  const requires: AppPlugin[] = [];
  const a = traced(events, "a", requires);
  requires.push(traced(events, "b", [a]));
  const b = requires[0] as AppPlugin;
  await expect(startApp({ plugins: [traced(events, "c"), a, b] })).rejects.toMatchObject({
    code: "dependency_cycle",
    message: expect.stringContaining('"a" requires "b" requires "a"'),
  });
  expect(events).toEqual([]);
});
