import { describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readComposition } from "./composition-file.ts";
import { duplicateJsonKeys } from "./duplicate-json-keys.ts";
import { startHost } from "./host.ts";
import { HostError } from "./host-error.ts";
import { testPlugin } from "./testing/test-plugin.ts";

const echo = testPlugin();
const app = testPlugin({ needs: ["echo"] });
const plugins = { app, echo };

const composition = {
  instances: { app: { plugin: "app", configuration: { loud: true } }, constructor: { plugin: "echo" } },
  bindings: [{ consumer: "app", requirement: "echo", provider: "constructor" }],
};

test("a composition in JSON is the same as one in code", async () => {
  const configurations: unknown[] = [];
  const noting = testPlugin({ needs: ["echo"], instantiate: (each) => void configurations.push(each) });
  const text = JSON.stringify(composition);
  const host = await startHost(await readComposition(text, { plugins: { app: noting, echo } }));
  expect(await host.handle("app", "echo")?.invoke("echo", 1)).toEqual({ kind: "success", value: 1 });
  expect(configurations).toEqual([{ loud: true }]);
  await host.stop();
});

test("a composition is read from a file when the text is a path", async () => {
  const folder = await mkdtemp(join(tmpdir(), "composition-"));
  try {
    const path = join(folder, "host.json");
    await writeFile(path, JSON.stringify(composition));
    const { instances, bindings } = await readComposition(path, { plugins });
    expect(instances).toEqual([
      { key: "app", plugin: app, configuration: { loud: true } },
      { key: "constructor", plugin: echo, configuration: undefined },
    ]);
    expect(bindings).toEqual(composition.bindings);
    expect(readComposition(join(folder, "none.json"), { plugins })).rejects.toThrow("none.json");
  } finally {
    await rm(folder, { recursive: true });
  }
});

describe("a mistake in the document is named with its path", () => {
  const mistakes: readonly (readonly [title: string, text: string, code: string, message: string])[] = [
    ["not JSON", "{", "invalid_composition", "not JSON: "],
    ["no instances", '{ "bindings": [] }', "invalid_composition", "instances: missing"],
    [
      "instances that are a list",
      '{ "instances": [], "bindings": [] }',
      "invalid_composition",
      "instances: expected an object of Instances by key, got Array",
    ],
    [
      "an unknown key",
      '{ "instances": {}, "bindings": [], "instance": {} }',
      "invalid_composition",
      "instance: unknown key",
    ],
    [
      "an unknown key of an instance",
      '{ "instances": { "a": { "plugin": "echo", "config": {} } }, "bindings": [] }',
      "invalid_composition",
      "instances.a.config: unknown key",
    ],
    [
      "an instance that is no object",
      '{ "instances": { "a": "echo" }, "bindings": [] }',
      "invalid_composition",
      'instances.a: expected Object, got "echo"',
    ],
    [
      "a missing key of a binding",
      '{ "instances": {}, "bindings": [{ "consumer": "a", "requirement": "b" }] }',
      "invalid_composition",
      "bindings.0.provider: missing",
    ],
    [
      "a key of a binding that is no text",
      '{ "instances": {}, "bindings": [{ "consumer": 1, "requirement": "b", "provider": "c" }] }',
      "invalid_composition",
      "bindings.0.consumer: expected string, got 1",
    ],
    [
      "a plugin that nobody gave",
      '{ "instances": { "a": { "plugin": "toString" } }, "bindings": [] }',
      "missing_plugin_factory",
      'instances.a.plugin: no plugin "toString", known are app, echo',
    ],
    [
      "an instance that stands there twice",
      '{ "instances": { "a": { "plugin": "echo" }, "\\u0061": { "plugin": "app" } }, "bindings": [] }',
      "duplicate_instance",
      "instances.a: stands there twice",
    ],
    [
      "a key of a configuration that stands there twice",
      '{ "instances": { "a": { "plugin": "echo", "configuration": { "b": [{}, { "c": 1, "c": 2 }] } } }, "bindings": [] }',
      "invalid_composition",
      "instances.a.configuration.b.1.c: stands there twice",
    ],
  ];
  test.each(mistakes)("%s", async (_title, text, code, message) => {
    const error = await readComposition(text, { plugins }).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(HostError);
    expect(error).toMatchObject({ code });
    expect((error as HostError).problems[0]?.message).toStartWith(message);
  });
});

test("keys that only look repeated are not: in sibling objects, in texts, in lists", () => {
  const text = JSON.stringify({
    a: { b: 1 },
    c: { b: '"b":{"b":1}' },
    d: [{ b: 1 }, { b: 2 }, "b", "b"],
    '"': ",",
  });
  expect(duplicateJsonKeys(text)).toEqual([]);
});

test.each([
  [
    "where an instance should be",
    (url: string) => `{ "instances": { "a": ${JSON.stringify(url)} }, "bindings": [] }`,
  ],
  [
    "in the place of a plugin's name",
    (url: string) => `{ "instances": { "a": { "plugin": ${JSON.stringify(url)} } }, "bindings": [] }`,
  ],
  ["without quotes", (url: string) => `{ "instances": ${url.replace(/\W/g, "")}, "bindings": [] }`],
])("a secret %s is not repeated by the error", async (_, documentWith) => {
  const password = `${"CANARY"}${"hunter2hunter2"}`;
  const refused = await readComposition(documentWith(`postgres://app:${password}@db/app`), { plugins }).then(
    () => "taken",
    (error: unknown) => String(error),
  );
  expect(refused).toStartWith("HostError: ");
  expect(refused).not.toContain(password);
});
