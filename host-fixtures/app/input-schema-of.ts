import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonSchema } from "../../capability/index.ts";

/** A JSON Schema, or null and why there is none. */
export type InputSchema =
  | { readonly schema: JsonSchema; readonly problem?: undefined }
  | { readonly schema: null; readonly problem: string };

/**
 * JSON Schema 2020-12 of what a schema takes: by its own conversion (Standard JSON Schema), or by `@valibot/to-json-schema` when that is
 * installed. Checks that are code are left out, so the document may allow what the schema then refuses.
 */
export async function inputSchemaOf(input: StandardSchemaV1): Promise<InputSchema> {
  const known = conversions.get(input);
  if (known) return known;
  const converted = await convert(input);
  conversions.set(input, converted);
  return converted;
}

const conversions = new WeakMap<StandardSchemaV1, InputSchema>();

async function convert(input: StandardSchemaV1): Promise<InputSchema> {
  const standard: StandardSchemaV1["~standard"] & Partial<StandardJSONSchemaV1["~standard"]> =
    input["~standard"];
  const { vendor, jsonSchema } = standard;
  try {
    if (jsonSchema) return { schema: jsonSchema.input({ target: "draft-2020-12" }) };
    if (vendor === "valibot") return { schema: await fromValibot(input) };
  } catch {
    const hint =
      vendor === "valibot" && !(await hasConverter()) ? "install @valibot/to-json-schema" : undefined;
    return { schema: null, problem: hint ?? `the ${vendor} schema has a part that JSON Schema cannot say` };
  }
  return { schema: null, problem: `${vendor} schemas offer no JSON Schema` };
}

async function fromValibot(input: StandardSchemaV1): Promise<JsonSchema> {
  const { toJsonSchema } = await import("@valibot/to-json-schema");
  return toJsonSchema(input as Parameters<typeof toJsonSchema>[0], {
    target: "draft-2020-12",
    typeMode: "input",
    errorMode: "throw",
    // A check in code only narrows what is allowed.
    overrideAction: ({ errors, jsonSchema }) => (errors ? jsonSchema : undefined),
  }) as JsonSchema;
}

async function hasConverter(): Promise<boolean> {
  return import("@valibot/to-json-schema").then(
    () => true,
    () => false,
  );
}
