import { describe, expect, test } from "bun:test";
import { type BindingSpec, type Composition, checkComposition } from "./composition.ts";
import { HostError } from "./host-error.ts";
import { testPlugin } from "./testing/test-plugin.ts";

const bind = (consumer: string, requirement: string, provider: string): BindingSpec => ({
  consumer,
  requirement,
  provider,
});
const provider = { plugin: testPlugin() };
const needing = (...needs: NonNullable<Parameters<typeof testPlugin>[0]>["needs"] & {}) => ({
  plugin: testPlugin({ needs }),
});

function problemsOf(composition: Composition): HostError["problems"] {
  try {
    checkComposition(composition);
  } catch (error) {
    if (error instanceof HostError) return error.problems;
    throw error;
  }
  return [];
}

test("instances come after their providers, otherwise in the order in which they were written", () => {
  const { instances } = checkComposition({
    instances: { worker: needing("jobs"), clock: provider, jobs: needing("secrets"), secrets: provider },
    bindings: [bind("worker", "jobs", "jobs"), bind("jobs", "secrets", "secrets")],
  });
  expect([...instances.keys()]).toEqual(["secrets", "jobs", "worker", "clock"]);
});

test("an optional requirement may stay unbound, and one for many takes any number of providers", () => {
  const optional = { id: "optional", cardinality: "optional" } as const;
  const many = { id: "many", cardinality: "many" } as const;
  const instances = { a: needing(optional, many), b: provider, c: provider };
  expect(problemsOf({ instances, bindings: [] })).toEqual([]);
  expect(problemsOf({ instances, bindings: [bind("a", "many", "b"), bind("a", "many", "c")] })).toEqual([]);
});

test("a later minor version of the same major satisfies a requirement", () => {
  const instances = {
    a: needing({ id: "echo", version: "1.2.3" }),
    b: { plugin: testPlugin({ provides: { "test.echo@1": "1.10.0" } }) },
  };
  expect(problemsOf({ instances, bindings: [bind("a", "echo", "b")] })).toEqual([]);
});

describe("a mistake in the composition is named by its code and in a sentence", () => {
  const mistakes: readonly (readonly [
    title: string,
    composition: Composition,
    code: string,
    message: string,
  ])[] = [
    [
      "two instances of one key",
      {
        instances: [
          { key: "a", ...provider },
          { key: "a", ...provider },
        ],
        bindings: [],
      },
      "duplicate_instance",
      'instances: "a" stands there twice, a key names one Instance',
    ],
    [
      "a key that cannot be a caller's name",
      { instances: { "a b": provider }, bindings: [] },
      "invalid_composition",
      'instances: a key must be 1..256 of A-Z a-z 0-9 . _ - : /, got "a b"',
    ],
    [
      "no plugin",
      { instances: { a: { plugin: undefined as never } }, bindings: [] },
      "missing_plugin_factory",
      "instances.a.plugin: expected a plugin factory, got undefined",
    ],
    [
      "a consumer that does not exist",
      { instances: { a: provider }, bindings: [bind("b", "echo", "a")] },
      "missing_instance",
      'bindings[0].consumer: no Instance "b", only "a"',
    ],
    [
      "a provider that does not exist",
      {
        instances: { a: needing({ id: "echo", cardinality: "optional" }) },
        bindings: [bind("a", "echo", "b")],
      },
      "missing_instance",
      'bindings[0].provider: no Instance "b", only "a"',
    ],
    [
      "a requirement that the consumer does not declare",
      { instances: { a: provider, b: provider }, bindings: [bind("a", "echo", "b")] },
      "undeclared_requirement",
      'bindings[0].requirement: "a" declares no requirement "echo", only none',
    ],
    [
      "a requirement for one without a binding",
      { instances: { a: needing("echo") }, bindings: [] },
      "missing_binding",
      '"a" needs one provider of test.echo@1 for its requirement "echo", none is bound',
    ],
    [
      "two providers where one is needed",
      {
        instances: { a: needing("echo"), b: provider, c: provider },
        bindings: [bind("a", "echo", "b"), bind("a", "echo", "c")],
      },
      "ambiguous_binding",
      'requirement "echo" of "a" takes one provider, bound are "b", "c"',
    ],
    [
      "the same provider twice where many may be bound",
      {
        instances: { a: needing({ id: "all", cardinality: "many" }), b: provider },
        bindings: [bind("a", "all", "b"), bind("a", "all", "b")],
      },
      "ambiguous_binding",
      'requirement "all" of "a" takes each provider once, bound are "b", "b"',
    ],
    [
      "another capability",
      {
        instances: {
          a: needing("echo"),
          b: { plugin: testPlugin({ provides: { "test.sing@1": "1.0.0" } }) },
        },
        bindings: [bind("a", "echo", "b")],
      },
      "capability_mismatch",
      'bindings[0].provider: "b" does not provide test.echo@1, only "test.sing@1"',
    ],
    [
      "an older version",
      {
        instances: { a: needing({ id: "echo", version: "1.1.0" }), b: provider },
        bindings: [bind("a", "echo", "b")],
      },
      "version_mismatch",
      'bindings[0].provider: "b" provides test.echo@1 1.0.0, needed is test.echo@1 1.1.0 or later of the same major',
    ],
    [
      "another major version",
      {
        instances: {
          a: needing("echo"),
          b: { plugin: testPlugin({ provides: { "test.echo@2": "2.0.0" } }) },
        },
        bindings: [bind("a", "echo", "b")],
      },
      "version_mismatch",
      'bindings[0].provider: "b" provides test.echo@2 2.0.0, needed is test.echo@1 1.0.0 or later of the same major',
    ],
    [
      "instances that need each other",
      {
        instances: { a: needing("echo"), b: needing("echo"), c: needing("echo") },
        bindings: [bind("a", "echo", "b"), bind("b", "echo", "c"), bind("c", "echo", "b")],
      },
      "dependency_cycle",
      '"b" needs "c" needs "b": no order can prepare providers first',
    ],
    [
      "an instance that needs itself",
      { instances: { a: needing("echo") }, bindings: [bind("a", "echo", "a")] },
      "dependency_cycle",
      '"a" needs "a": no order can prepare providers first',
    ],
  ];
  test.each(mistakes)("%s", (_title, composition, code, message) => {
    expect(problemsOf(composition)).toEqual([{ code, message } as never]);
  });
});

test("several mistakes are reported together, with the code of the first", () => {
  const composition = {
    instances: { a: needing("echo"), b: needing("sound") },
    bindings: [bind("c", "echo", "a")],
  };
  expect(problemsOf(composition).map((problem) => problem.code)).toEqual([
    "missing_instance",
    "missing_binding",
    "missing_binding",
  ]);
  expect(() => checkComposition(composition)).toThrow(
    expect.objectContaining({
      code: "missing_instance",
      message: expect.stringContaining('requirement "sound"'),
    }),
  );
});
