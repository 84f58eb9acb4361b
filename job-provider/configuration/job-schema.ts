import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject } from "../../capability/index.ts";
import { ownJson } from "../canonical/own-json.ts";

/**
 * A schema that validates (Standard Schema) and also says itself as a JSON Schema (Standard JSON Schema). Zod 4 and ArkType schemas are that
 * as they are. A Valibot schema becomes one by `toStandardJsonSchema` of `@valibot/to-json-schema`; any other by {@link withJsonSchema}.
 */
export interface JobSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** What a schema takes and what it gives, as JSON Schema documents. */
export interface JobSchemaDocuments {
  readonly input: JsonObject;
  /** Null when the schema cannot say it: the result of a transformation in code has no document. */
  readonly output: JsonObject | null;
}

/** How a schema is converted that does not do it by itself. */
export interface JsonSchemaConverter {
  /** The document of what the schema takes. */
  readonly input: () => object;
  /** The document of what it gives. Default: as `input`. */
  readonly output?: () => object;
}

/**
 * A Standard Schema of any vendor with JSON Schema documents of your own making, for instance because the vendor's conversion cannot say a
 * check in code.
 *
 * @example
 * const schema = withJsonSchema(Cells, { input: () => toJsonSchema(Cells, { errorMode: "ignore" }) });
 */
export function withJsonSchema<Schema extends StandardSchemaV1>(
  schema: Schema,
  converter: JsonSchemaConverter,
): JobSchema<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>> {
  const { input, output = input } = converter;
  const standard = schema["~standard"] as StandardSchemaV1.Props<
    StandardSchemaV1.InferInput<Schema>,
    StandardSchemaV1.InferOutput<Schema>
  >;
  const jsonSchema = { input: () => ({ ...input() }), output: () => ({ ...output() }) };
  return Object.freeze({ "~standard": Object.freeze({ ...standard, jsonSchema }) });
}

/** Whether the value validates and offers JSON Schema documents. */
export function isJobSchema(value: unknown): value is JobSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false; // ArkType's are functions
  const standard = (value as Partial<JobSchema>)["~standard"];
  return (
    standard?.version === 1 &&
    typeof standard.validate === "function" &&
    typeof standard.jsonSchema?.input === "function" &&
    typeof standard.jsonSchema.output === "function"
  );
}

/**
 * The documents of a schema, in JSON Schema 2020-12, or in draft 7 from a vendor that knows no later one. Owned and deeply frozen.
 *
 * @throws TypeError when there is none of what the schema takes; `cause` is the vendor's reason
 */
export function documentsOf(schema: JobSchema, what: string): JobSchemaDocuments {
  const { jsonSchema, vendor } = schema["~standard"];
  const input = convert((options) => jsonSchema.input(options));
  if (!("document" in input))
    throw new TypeError(`${what}: the ${vendor} schema has no JSON Schema; see withJsonSchema`, {
      cause: input.cause,
    });
  const output = convert((options) => jsonSchema.output(options));
  return Object.freeze({
    input: input.document,
    output: "document" in output ? output.document : null,
  });
}

function convert(
  method: StandardJSONSchemaV1.Converter["input"],
): { readonly document: JsonObject } | { readonly cause: unknown } {
  let cause: unknown;
  for (const target of ["draft-2020-12", "draft-07"] as const) {
    try {
      // Vendors hang methods of their own on a document; as text it is only JSON.
      const document = ownJson(JSON.parse(JSON.stringify(method({ target }))));
      if (typeof document === "object" && document !== null && !Array.isArray(document))
        return { document: document as JsonObject };
    } catch (error) {
      cause ??= error;
    }
  }
  return { cause };
}
