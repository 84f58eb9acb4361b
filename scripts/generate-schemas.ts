import { toJsonSchema } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { jobsCapability, secretsCapability, signalsCapability } from "../capability/index.ts";
import { jobsConfigSchema } from "../plugin/config.ts";

/** Every JSON Schema document of the package, by path from the root, generated from the valibot schemas. */
export function generateSchemas(): ReadonlyMap<string, string> {
  const documents = new Map<string, string>();
  for (const capability of [jobsCapability, secretsCapability, signalsCapability]) {
    const id = capability.descriptor.capability_id;
    const folder = `capability/schemas/${id.replace("@", ".v")}`;
    for (const [operation, { request, response, errors }] of Object.entries(capability.operations)) {
      documents.set(`${folder}/${operation}.request.json`, document(`${id} ${operation} request`, request));
      documents.set(
        `${folder}/${operation}.response.json`,
        document(`${id} ${operation} response`, response),
      );
      documents.set(`${folder}/${operation}.error.json`, errorDocument(`${id} ${operation} error`, errors));
    }
  }
  documents.set("plugin/config.schema.json", document("Configuration of a Jobs Instance", jobsConfigSchema));
  return documents;
}

function document(title: string, schema: GenericSchema): string {
  const body = toJsonSchema(schema, {
    target: "draft-2020-12",
    typeMode: "input",
    errorMode: "ignore",
    overrideSchema: ({ valibotSchema, jsonSchema }) =>
      valibotSchema.type === "custom" ? { ...jsonSchema, type: "object" } : undefined,
  });
  return print({ $schema: draft, title, ...(published(body) as object) });
}

/** Where a check is code, its schema carries the JSON Schema as metadata, which then stands for the whole. */
function published(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(published);
  if (typeof value !== "object" || value === null) return value;
  const { jsonSchema, ...rest } = value as { jsonSchema?: object; default?: unknown };
  if (jsonSchema) return { ...jsonSchema, ...("default" in rest ? { default: rest.default } : {}) };
  return Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, published(member)]));
}

/** A known code as itself, or a later one as an object: the form in which a newer provider may refuse. */
function errorDocument(title: string, errors: readonly string[]): string {
  const later = {
    type: "object",
    properties: { code: { type: "string" }, payload: {} },
    required: ["code"],
    additionalProperties: false,
  };
  return print({ $schema: draft, title, oneOf: [{ enum: errors }, later] });
}

const draft = "https://json-schema.org/draft/2020-12/schema";

function print(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

if (import.meta.main) {
  const root = new URL("../", import.meta.url);
  for (const [path, text] of generateSchemas()) await Bun.write(new URL(path, root), text);
}
