import { expect, test } from "bun:test";
import { toJsonSchema, toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { digestJson } from "../canonical/digest.ts";
import { refusalOf } from "../testing/refusal-of.ts";
import { defineConfiguration, isConfiguration } from "./define-configuration.ts";
import { type JobSchema, withJsonSchema } from "./job-schema.ts";

const Cells = v.object({ cells: v.number() });
const fine = { id: "mesh", version: "1", schema: z.object({ cells: z.number() }) };
const define = (changes: object) => defineConfiguration({ ...fine, ...changes });

const vendors: readonly (readonly [string, JobSchema])[] = [
  ["zod as it is", z.object({ cells: z.number() })],
  ["ArkType as it is", type({ cells: "number" })],
  ["Valibot by toStandardJsonSchema", toStandardJsonSchema(Cells)],
  [
    "any schema by withJsonSchema",
    withJsonSchema(Cells, { input: () => toJsonSchema(Cells, { target: "draft-2020-12" }) }),
  ],
];

test.each(vendors)("a schema of %s gives its documents and still validates", async (_what, schema) => {
  const { manifest, schema: kept, diagnostics } = defineConfiguration({ ...fine, schema });
  expect(manifest.schema.input).toMatchObject({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { cells: { type: "number" } },
    required: ["cells"],
  });
  expect(manifest.schema.output).toMatchObject({ type: "object" });
  expect(diagnostics).toEqual([]);
  expect(await kept["~standard"].validate({ cells: 1 })).toMatchObject({ value: { cells: 1 } });
  expect(await kept["~standard"].validate({ cells: "x" })).toHaveProperty("issues");
});

test("a definition and its manifest are frozen, JSON, and leave out what was not given", () => {
  const definition = define({});
  for (const object of [definition, ...objectsIn(definition.manifest), definition.diagnostics])
    expect(Object.isFrozen(object)).toBe(true);
  expect(Object.keys(definition).sort()).toEqual(["diagnostics", "manifest", "manifestDigest", "schema"]);
  expect(Object.keys(definition.manifest)).toEqual(["id", "version", "schema"]);
  expect(definition.manifest).toEqual(JSON.parse(JSON.stringify(definition.manifest)));
  expect(isConfiguration(definition)).toBe(true);
  expect(isConfiguration({ ...definition })).toBe(false);
});

test("the manifest digest is over all of the manifest", () => {
  expect(define({}).manifestDigest()).toBe(digestJson(define({}).manifest));
  const changes = [
    {},
    { id: "other" },
    { version: "2" },
    { schema: z.object({ cells: z.number().max(3) }) },
    { defaults: { cells: 1 } },
    { ui: { order: ["cells"] } },
  ];
  expect(new Set(changes.map((change) => define(change).manifestDigest())).size).toBe(changes.length);
});

test("defaults and hints are copied: later changes to them have no effect", () => {
  const defaults = { cells: 1 };
  const ui = { order: ["cells"] };
  const { manifest } = define({ defaults, ui });
  defaults.cells = 2;
  ui.order.push("more");
  expect(manifest).toMatchObject({ defaults: { cells: 1 }, ui: { order: ["cells"] } });
});

test("a transformation in code leaves no document of the output, and a diagnostic says so", () => {
  const definition = define({ schema: z.object({ cells: z.string().transform(Number) }) });
  expect(definition.manifest.schema.output).toBeNull();
  expect(definition.diagnostics).toMatchObject([{ code: "OUTPUT_SCHEMA_UNAVAILABLE" }]);
  expect(Object.isFrozen(definition.diagnostics[0])).toBe(true);
});

test("a vendor that knows only draft 7 is asked for that", () => {
  const input = ({ target }: { target: string }): Record<string, unknown> => {
    if (target !== "draft-07") throw new Error(`no ${target}`);
    return { type: "number" };
  };
  const standard = { version: 1, vendor: "old", validate: (value: unknown) => ({ value }) } as const;
  const schema = { "~standard": { ...standard, jsonSchema: { input, output: input } } };
  expect(defineConfiguration({ ...fine, schema }).manifest.schema).toEqual({
    input: { type: "number" },
    output: { type: "number" },
  });
});

test("a schema that cannot say its input is refused, with the vendor's reason as the cause", () => {
  const reason = new Error("no such thing in JSON Schema");
  const schema = withJsonSchema(Cells, {
    input: () => {
      throw reason;
    },
  });
  let refusal: unknown;
  try {
    define({ schema });
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(TypeError);
  expect(refusal).toHaveProperty("cause", reason);
  expect((refusal as Error).message).toContain("/schema: the valibot schema has no JSON Schema");
});

test.each([
  [{ id: "" }, "/id: expected 1..256"],
  [{ version: "v".repeat(257) }, "/version: expected 1..256"],
  [{ version: 1 }, "/version: expected a text"],
  [{ schema: Cells }, "defineConfiguration: /schema: expected a Standard Schema that also"],
  [{ schema: null }, "defineConfiguration: /schema: expected"],
  [{ defaults: { cells: Number.NaN } }, "/defaults/cells: NaN"],
  [{ defaults: { at: new Date(0) } }, "/defaults/at: not a plain object"],
  [{ ui: { render: () => 1 } }, "/ui/render: function"],
  [{ title: "Mesh" }, "defineConfiguration: /title: no such key"],
])("%o is refused with its place", (changes, message) => {
  expect(refusalOf(() => define(changes))).toStartWith(message);
});

function objectsIn(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(objectsIn)];
}
