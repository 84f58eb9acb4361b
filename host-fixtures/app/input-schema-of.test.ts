import { expect, test } from "bun:test";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { inputSchemaOf } from "./input-schema-of.ts";

const expected = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { id: { type: "string" } },
  required: ["id"],
};

test.each<[string, StandardSchemaV1]>([
  ["valibot", v.object({ id: v.string() })],
  ["zod", z.object({ id: z.string() })],
  ["arktype", type({ id: "string" })],
])("a %s schema becomes a JSON Schema of what it takes", async (_name, schema) => {
  const { schema: document, problem } = await inputSchemaOf(schema);
  expect(problem).toBeUndefined();
  expect(document).toMatchObject(expected);
});

test("a check in code is left out, and a transform leaves its input", async () => {
  const id = v.pipe(
    v.string(),
    v.check((text) => text !== "x"),
    v.transform(Number),
    v.integer(),
  );
  expect((await inputSchemaOf(v.object({ id }))).schema).toEqual(expected);
});

test("what JSON Schema cannot say is said", async () => {
  for (const [vendor, schema] of [
    ["valibot", v.object({ at: v.date() })],
    ["zod", z.object({ at: z.date() })],
  ] as const) {
    expect(await inputSchemaOf(schema)).toEqual({
      schema: null,
      problem: `the ${vendor} schema has a part that JSON Schema cannot say`,
    });
  }
  const own: StandardSchemaV1 = {
    "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) },
  };
  expect(await inputSchemaOf(own)).toEqual({ schema: null, problem: "own schemas offer no JSON Schema" });
});
