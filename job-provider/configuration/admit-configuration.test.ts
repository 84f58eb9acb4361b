import { expect, test } from "bun:test";
import * as v from "valibot";
import { z } from "zod";
import type { JsonValue } from "../../capability/index.ts";
import { digestJson } from "../canonical/digest.ts";
import { digestWith } from "../testing/valid-submission.ts";
import { admitConfiguration } from "./admit-configuration.ts";
import { defineConfiguration, type JobConfigurationDefinition } from "./define-configuration.ts";
import { fillDefaults } from "./fill-defaults.ts";
import { withJsonSchema } from "./job-schema.ts";

const manifest = digestWith("a");
const definition = defineConfiguration({
  id: "mesh",
  version: "1",
  schema: z.object({
    cells: z.string().regex(/^\d+$/).transform(Number),
    seed: z.number().nullable().optional(),
  }),
  defaults: { seed: 7 },
});
const admit = async (value: JsonValue, explicitPointers: readonly string[] = [], more: object = {}) =>
  admitConfiguration({
    definition,
    providerManifestDigest: manifest,
    seenManifestDigest: manifest,
    configuration: { value, explicitPointers, ...more },
  });

test("what the schema makes of value and defaults is the effective configuration, frozen and digested", async () => {
  const admission = await admit({ cells: "12" });
  const value = { cells: 12, seed: 7 };
  expect(admission).toEqual({
    ok: true,
    configuration: { value, digest: digestJson(value), providerManifestDigest: manifest },
  });
  if (!admission.ok) throw new Error("not admitted");
  expect(Object.isFrozen(admission.configuration)).toBe(true);
  expect(Object.isFrozen(admission.configuration.value)).toBe(true);
});

test("a manifest that the caller did not see is refused before anything else", async () => {
  const admission = await admitConfiguration({
    definition,
    providerManifestDigest: manifest,
    seenManifestDigest: digestWith("b"),
    configuration: { value: "not even valid", explicitPointers: [] },
  });
  expect(admission).toEqual({ ok: false, code: "PROVIDER_MANIFEST_CHANGED" });
});

test("an omitted field and a supplied null, 0, false or empty text are told apart by the pointers", async () => {
  const fill = (value: JsonValue, pointers: readonly string[]) =>
    fillDefaults(value, { field: "preset" }, pointers);
  expect(fill({}, [])).toEqual({ field: "preset" });
  for (const supplied of [null, 0, false, "", [], {}]) {
    expect(fill({ field: supplied }, ["/field"])).toEqual({ field: supplied });
    expect(fill({ field: supplied }, [])).toEqual({ field: "preset" });
  }
  expect(await admit({ cells: "1", seed: null }, ["/seed"])).toMatchObject({
    configuration: { value: { seed: null } },
  });
});

test.each<[string, JsonValue, JsonValue | undefined, readonly string[], JsonValue]>([
  ["without defaults the value stays", { a: 1 }, undefined, [], { a: 1 }],
  ["without a default of its own a member stays", { a: 1 }, { b: 2 }, [], { a: 1, b: 2 }],
  [
    "objects are filled member by member",
    { a: { x: 1 } },
    { a: { x: 0, y: 2 } },
    ["/a/x"],
    { a: { x: 1, y: 2 } },
  ],
  ["what is named stays whole", { a: { x: 1 } }, { a: { x: 0, y: 2 } }, ["/a"], { a: { x: 1 } }],
  ["the root may be named", { a: 1 }, { a: 0, b: 2 }, [""], { a: 1 }],
  ["an array is one thing", { a: [1] }, { a: [8, 9] }, [], { a: [8, 9] }],
  [
    "a pointer into an array keeps all of it",
    { a: [1, { x: 2 }] },
    { a: [8] },
    ["/a/1/x"],
    { a: [1, { x: 2 }] },
  ],
  [
    "a pointer below keeps what a default would replace",
    { a: { x: 1 } },
    { a: null },
    ["/a/x"],
    { a: { x: 1 } },
  ],
  [
    "an escaped token is one token",
    { "a/b": 1, "~": 2 },
    { "a/b": 0, "~": 0 },
    ["/a~1b"],
    { "a/b": 1, "~": 0 },
  ],
  ["a whole default replaces a whole value", 1, { a: 1 }, [], { a: 1 }],
])("%s", (_what, value, defaults, pointers, filled) => {
  expect(fillDefaults(value, defaults, pointers)).toEqual(filled);
});

test("a key named like a part of every object is filled as any other", () => {
  const parse = (text: string) => JSON.parse(text) as JsonValue;
  const filled = fillDefaults(parse('{"constructor":1}'), parse('{"__proto__":{"x":1},"constructor":2}'), []);
  expect(Object.entries(filled as object)).toEqual([
    ["__proto__", { x: 1 }],
    ["constructor", 2],
  ]);
});

test("what the schema refuses is told by pointer", async () => {
  expect(await admit({ cells: "many", seed: "x" }, ["/seed"])).toMatchObject({
    ok: false,
    code: "CONFIGURATION_INVALID",
    issues: [{ pointer: "/cells" }, { pointer: "/seed" }],
  });
});

test("issues are bounded in number and length", async () => {
  const schema = {
    "~standard": {
      version: 1,
      vendor: "loud",
      validate: () => ({
        issues: Array.from({ length: 500 }, (_, index) => ({
          message: "x".repeat(5000),
          path: [{ key: "a/b" }, index],
        })),
      }),
      jsonSchema: { input: () => ({}), output: () => ({}) },
    },
  } as const;
  const admission = await admitWith(defineConfiguration({ id: "loud", version: "1", schema }), {});
  if (admission.ok) throw new Error("admitted");
  expect(admission.issues).toHaveLength(100);
  expect(admission.issues?.[3]).toEqual({ pointer: "/a~1b/3", message: "x".repeat(1024) });
});

test("an output that is not JSON is refused", async () => {
  const schema = withJsonSchema(
    v.pipe(
      v.any(),
      v.transform(() => ({ at: new Date(0) })),
    ),
    {
      input: () => ({}),
    },
  );
  const dated = defineConfiguration({ id: "dated", version: "1", schema });
  expect(await admitWith(dated, {})).toMatchObject({
    ok: false,
    code: "CONFIGURATION_INVALID",
    issues: [{ pointer: "", message: "/at: not a plain object" }],
  });
});

test("an output beyond the bounds of a configuration is refused", async () => {
  const schema = withJsonSchema(
    v.pipe(
      v.any(),
      v.transform(() => Array.from({ length: 100_000 }, () => 0)),
    ),
    {
      input: () => ({}),
    },
  );
  const large = defineConfiguration({ id: "large", version: "1", schema });
  expect(await admitWith(large, {})).toMatchObject({ ok: false, code: "CONFIGURATION_INVALID" });
});

test("another effective digest than the caller expects is refused", async () => {
  const expectedEffectiveDigest = digestJson({ cells: 12, seed: 7 });
  expect(await admit({ cells: "12" }, [], { expectedEffectiveDigest })).toMatchObject({ ok: true });
  expect(await admit({ cells: "13" }, [], { expectedEffectiveDigest })).toEqual({
    ok: false,
    code: "EFFECTIVE_DIGEST_MISMATCH",
  });
});

test("a schema that changes its input changes a copy", async () => {
  const schema = withJsonSchema(
    v.pipe(
      v.any(),
      v.transform((value: { list: number[] }) => {
        value.list.push(2);
        return value;
      }),
    ),
    { input: () => ({}) },
  );
  const value = Object.freeze({ list: Object.freeze([1]) });
  const pushing = defineConfiguration({ id: "pushing", version: "1", schema });
  expect(await admitWith(pushing, value)).toMatchObject({ configuration: { value: { list: [1, 2] } } });
  expect(value).toEqual({ list: [1] });
});

test("what a schema throws is passed on", async () => {
  const schema = withJsonSchema(
    v.pipe(
      v.any(),
      v.transform((): never => {
        throw new RangeError("a bug");
      }),
    ),
    { input: () => ({}) },
  );
  const failing = admitWith(defineConfiguration({ id: "failing", version: "1", schema }), {});
  await expect(failing).rejects.toThrow(new RangeError("a bug"));
});

async function admitWith(other: JobConfigurationDefinition, value: JsonValue) {
  return admitConfiguration({
    definition: other,
    providerManifestDigest: manifest,
    seenManifestDigest: manifest,
    configuration: { value, explicitPointers: [] },
  });
}
