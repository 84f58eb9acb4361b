import { expect, test } from "bun:test";
import { z } from "zod";
import { canonicalJson } from "../canonical/canonical-json.ts";
import { digestJson } from "../canonical/digest.ts";
import { defineConfiguration } from "../configuration/define-configuration.ts";
import { refusalOf } from "../testing/refusal-of.ts";
import { defineJobCommand } from "./define-job-command.ts";
import { defineJobProvider, jobProviderDefinition, runnableJobProvider } from "./define-job-provider.ts";
import { defineJobQuery } from "./define-job-query.ts";
import type { JobProviderDescriptor } from "./job-provider-descriptor.ts";

const configuration = defineConfiguration({
  id: "mesh-configuration",
  version: "1",
  schema: z.object({ cells: z.number() }),
});
const query = defineJobQuery({
  name: "status",
  inputSchema: z.null(),
  resultSchema: z.string(),
  execute: () => "fine",
});
const command = defineJobCommand({
  name: "stop",
  inputSchema: z.object({ after: z.number() }),
  resultSchema: z.null(),
  replayPolicy: "replay-safe",
  execute: () => null,
});
const fine = {
  id: "acme/mesh",
  kind: "mesh",
  kindVersion: 1,
  version: "2.1.0",
  configuration,
  resultSchema: z.object({ cells: z.number() }),
  recovery: { mode: "restart-from-input" },
  execute: () => ({ cells: 1 }),
} as const;
const checkpoint = {
  mode: "checkpoint",
  format: "state",
  formatVersion: 1,
  metadataSchema: z.object({ step: z.number() }),
  compatible: () => true,
} as const;
const artifact = { role: "mesh", mediaTypes: ["model/vtk"], minimum: 0, maximum: 2 };
const requirement = { key: "cpu", condition: "at-least", value: 4 };

/** Changes that the types would not allow. */
const define = (changes: object): JobProviderDescriptor => defineJobProvider({ ...fine, ...changes })();

test("a descriptor says the whole provider as data, with defaults filled in", () => {
  const descriptor = define({});
  expect(descriptor).toEqual({
    id: "acme/mesh",
    kind: "mesh",
    kindVersion: 1,
    version: "2.1.0",
    configuration: configuration.manifest,
    resultSchema: {
      input: expect.objectContaining({ type: "object" }),
      output: expect.objectContaining({ type: "object" }),
    },
    maxAttempts: 3,
    requirements: [],
    artifacts: [],
    recovery: { mode: "restart-from-input" },
    queries: [],
    commands: [],
    manifestDigest: expect.stringMatching(/^sha256:/),
  } as never);
});

test("a descriptor is JSON, frozen at every level, and the same at every call", () => {
  const factory = defineJobProvider({ ...fine, recovery: checkpoint, queries: [query], commands: [command] });
  const descriptor = factory();
  expect(factory).toHaveLength(0);
  expect(factory()).toBe(descriptor);
  expect(JSON.parse(canonicalJson(descriptor))).toEqual(JSON.parse(JSON.stringify(descriptor)));
  for (const object of objectsIn(descriptor)) expect(Object.isFrozen(object)).toBe(true);
  expect(descriptor.queries).toMatchObject([{ name: "status", inputSchema: { input: { type: "null" } } }]);
  expect(descriptor.commands).toMatchObject([{ name: "stop", replayPolicy: "replay-safe" }]);
  expect(descriptor.recovery).toMatchObject({ mode: "checkpoint", format: "state", formatVersion: 1 });
  expect(JSON.stringify(descriptor)).not.toContain("compatible");
});

test("functions and schemas stay behind a symbol that nothing enumerates", () => {
  const registration = defineJobProvider({ ...fine, recovery: checkpoint, queries: [query] })();
  expect(Object.keys(registration)).not.toContain(jobProviderDefinition.toString());
  expect(Object.getOwnPropertyDescriptor(registration, jobProviderDefinition)?.enumerable).toBe(false);
  const runnable = runnableJobProvider(registration);
  expect(runnable.execute).toBe(fine.execute);
  expect(runnable).toMatchObject({ configuration, resultSchema: fine.resultSchema, recovery: checkpoint });
  expect(runnable.queries[0]).toEqual(query);
  expect(() => runnableJobProvider({ ...registration })).toThrow("call the factory");
  expect(() => runnableJobProvider(JSON.parse(JSON.stringify(registration)) as typeof registration)).toThrow(
    TypeError,
  );
});

test("changes to a definition after it was given have no effect", () => {
  const requirements = [{ key: "cpu", condition: "equals", value: 1 }];
  const execute = () => ({ cells: 2 });
  const definition = { ...fine, requirements, execute };
  const registration = defineJobProvider(definition as unknown as typeof fine)();
  requirements.push({ key: "gpu", condition: "equals", value: 1 });
  definition.execute = () => ({ cells: 3 });
  expect(registration.requirements).toHaveLength(1);
  expect(runnableJobProvider(registration).execute).toBe(execute);
});

test("the manifest digest is over all other fields, and changes with each of them", () => {
  const { manifestDigest, ...manifest } = define({});
  expect(manifestDigest).toBe(digestJson(manifest));
  const other = defineConfiguration({ id: "other", version: "1", schema: z.object({ cells: z.number() }) });
  const changes = [
    {},
    { id: "x" },
    { kind: "x" },
    { kindVersion: 2 },
    { version: "x" },
    { configuration: other },
    { resultSchema: z.string() },
    { maxAttempts: 4 },
    { requirements: [requirement] },
    { artifacts: [artifact] },
    { recovery: checkpoint },
    { recovery: { ...checkpoint, formatVersion: 2 } },
    { recovery: { mode: "reconcile-external-effect" } },
    { queries: [query] },
    { commands: [command] },
    { commands: [{ ...command, replayPolicy: "non-replayable" }] },
  ];
  expect(new Set(changes.map((change) => define(change).manifestDigest)).size).toBe(changes.length);
  expect(define({ execute: () => ({ cells: 9 }) }).manifestDigest).toBe(manifestDigest);
});

const many = (count: number, make: (index: number) => object): readonly object[] =>
  Array.from({ length: count }, (_, index) => make(index));
const queriesNamed = (count: number, start = "q") =>
  many(count, (index) => ({ ...query, name: `${start}${index}` }));
const commandsNamed = (count: number) => many(count, (index) => ({ ...command, name: `c${index}` }));

test.each([
  ["the longest names", { id: "i".repeat(256), kind: "k".repeat(256), version: "v".repeat(256) }],
  ["the bounds of attempts, lower", { maxAttempts: 1 }],
  ["the bounds of attempts, upper", { maxAttempts: 100 }],
  ["128 requirements", { requirements: many(128, () => requirement) }],
  ["128 roles", { artifacts: many(128, (index) => ({ ...artifact, role: `r${index}` })) }],
  [
    "64 media types",
    { artifacts: [{ ...artifact, mediaTypes: many(64, (index) => `a/b${index}` as never) }] },
  ],
  ["exactly one artifact", { artifacts: [{ ...artifact, minimum: 1, maximum: 1 }] }],
  ["128 queries and commands", { queries: queriesNamed(64), commands: commandsNamed(64) }],
  ["facts of every type", { requirements: [{ key: "k", condition: "one-of", values: ["a", 1, true] }] }],
  ["a member that is undefined", { maxAttempts: undefined, queries: undefined }],
])("allowed: %s", (_what, changes) => {
  expect(() => define(changes)).not.toThrow();
});

test.each([
  [{ id: "" }, "/id: expected 1..256"],
  [{ id: undefined }, "/id: expected a text"],
  [{ kind: "k".repeat(257) }, "/kind: expected 1..256"],
  [{ version: "\uD800" }, "/version: a lone surrogate"],
  [{ kindVersion: 0 }, "/kindVersion: expected an integer"],
  [{ kindVersion: 1.5 }, "/kindVersion: expected an integer"],
  [{ kindVersion: "1" }, "/kindVersion: expected an integer"],
  [{ configuration: { ...configuration } }, "/configuration: expected what defineConfiguration returned"],
  [{ resultSchema: {} }, "/resultSchema: expected a Standard Schema"],
  [{ maxAttempts: 0 }, "/maxAttempts: expected an integer 1..100"],
  [{ maxAttempts: 101 }, "/maxAttempts: expected an integer 1..100"],
  [{ maxAttempts: null }, "/maxAttempts: expected an integer 1..100"],
  [{ execute: "run" }, "/execute: expected a function"],
  [{ handler: () => 1 }, "/handler: no such key"],
  [{ requirements: many(129, () => requirement) }, "/requirements: more than 128 members"],
  [{ requirements: [{ key: "cpu", condition: "at-most", value: 1 }] }, "/requirements/0/condition: expected"],
  [{ requirements: [{ key: "", condition: "equals", value: 1 }] }, "/requirements/0/key: expected 1..256"],
  [{ requirements: [{ key: "a", condition: "equals", values: [1] }] }, "/requirements/0/values: no such key"],
  [{ requirements: [{ key: "a", condition: "equals", value: null }] }, "/requirements/0/value: expected"],
  [
    { requirements: [{ key: "a", condition: "equals", value: Number.NaN }] },
    "/requirements/0/value: expected",
  ],
  [{ requirements: [{ key: "a", condition: "one-of", value: 1 }] }, "/requirements/0/value: no such key"],
  [{ requirements: [{ key: "a", condition: "one-of", values: [] }] }, "/requirements/0/values: expected at"],
  [{ requirements: [{ key: "a", condition: "one-of", values: [{}] }] }, "/requirements/0/values/0: expected"],
  [
    { requirements: [{ key: "a", condition: "at-least", value: "4" }] },
    "/requirements/0/value: expected a f",
  ],
  [{ artifacts: many(129, (i) => ({ ...artifact, role: `${i}` })) }, "/artifacts: more than 128 members"],
  [{ artifacts: [artifact, artifact] }, "/artifacts/1/role: the role is declared twice"],
  [{ artifacts: [{ ...artifact, role: "" }] }, "/artifacts/0/role: expected 1..256"],
  [{ artifacts: [{ ...artifact, mediaTypes: [] }] }, "/artifacts/0/mediaTypes: expected 1..64"],
  [
    { artifacts: [{ ...artifact, mediaTypes: many(65, (i) => `a/${i}` as never) }] },
    "/artifacts/0/mediaTypes: more",
  ],
  [{ artifacts: [{ ...artifact, mediaTypes: ["a/b", "a/b"] }] }, "/artifacts/0/mediaTypes/1: the media type"],
  [
    { artifacts: [{ ...artifact, mediaTypes: ["text"] }] },
    "/artifacts/0/mediaTypes/0: expected type/subtype",
  ],
  [
    { artifacts: [{ ...artifact, mediaTypes: ["a/b; c=d"] }] },
    "/artifacts/0/mediaTypes/0: expected type/sub",
  ],
  [{ artifacts: [{ ...artifact, minimum: -1 }] }, "/artifacts/0/minimum: expected an integer 0.."],
  [{ artifacts: [{ ...artifact, minimum: 3 }] }, "/artifacts/0/maximum: expected an integer 3.."],
  [{ artifacts: [{ ...artifact, maximum: 0 }] }, "/artifacts/0/maximum: expected an integer 1.."],
  [{ artifacts: [{ ...artifact, name: "x" }] }, "/artifacts/0/name: no such key"],
  [{ recovery: undefined }, "/recovery: expected an object"],
  [{ recovery: { mode: "retry" } }, "/recovery/mode: expected restart-from-input"],
  [{ recovery: { mode: "restart-from-input", format: "x" } }, "/recovery/format: no such key"],
  [{ recovery: { mode: "checkpoint" } }, "/recovery/format: missing"],
  [{ recovery: { ...checkpoint, formatVersion: 0 } }, "/recovery/formatVersion: expected an integer"],
  [{ recovery: { ...checkpoint, metadataSchema: {} } }, "/recovery/metadataSchema: expected a Standard"],
  [{ recovery: { ...checkpoint, compatible: true } }, "/recovery/compatible: expected a function"],
  [{ queries: [query, query] }, "/queries/1/name: the name is taken"],
  [{ queries: [{ ...query, name: "stop" }], commands: [command] }, "/commands/0/name: the name is taken"],
  [{ queries: [{ ...query, replayPolicy: "replay-safe" }] }, "/queries/0/replayPolicy: no such key"],
  [{ queries: [{ ...query, execute: 1 }] }, "/queries/0/execute: expected a function"],
  [{ commands: [query] }, "/commands/0/replayPolicy: missing"],
  [{ commands: [{ ...command, replayPolicy: "never" }] }, "/commands/0/replayPolicy: expected one of"],
  [{ commands: [{ ...command, inputSchema: 1 }] }, "/commands/0/inputSchema: expected a Standard"],
  [{ queries: queriesNamed(129) }, "/queries: more than 128 members"],
  [{ queries: queriesNamed(65), commands: commandsNamed(64) }, "/commands/63: more than 128 queries and"],
] as readonly (readonly [object, string])[])("refused with its place, case %#", (changes, message) => {
  expect(refusalOf(() => define(changes))).toStartWith(message);
});

test("a query and a command are frozen and keep what they were made of", () => {
  expect(Object.isFrozen(query) && Object.isFrozen(command)).toBe(true);
  expect(command).toMatchObject({ name: "stop", replayPolicy: "replay-safe" });
});

test.each([
  [{ name: "" }, "/defineJobCommand/name: expected 1..256"],
  [{ inputSchema: null }, "defineJobCommand: /inputSchema: expected a Standard Schema"],
  [{ resultSchema: {} }, "defineJobCommand: /resultSchema: expected a Standard Schema"],
  [{ execute: 1 }, "defineJobCommand: /execute: expected a function, got number"],
  [{ replayPolicy: "never" }, "defineJobCommand: /replayPolicy: expected one of replay-safe"],
  [{ title: "x" }, "defineJobCommand: /title: no such key"],
])("a command with %o is refused", (changes, message) => {
  expect(refusalOf(() => defineJobCommand({ ...command, ...changes } as typeof command))).toStartWith(
    message,
  );
});

test("a query has no replay policy", () => {
  expect(refusalOf(() => defineJobQuery({ ...command } as unknown as typeof query))).toBe(
    "defineJobQuery: /replayPolicy: no such key",
  );
});

function objectsIn(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}
