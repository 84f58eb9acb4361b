import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, JsonValue } from "../../capability/index.ts";
import { digestJson } from "../canonical/digest.ts";
import { ownJson } from "../canonical/own-json.ts";
import { readIdentity } from "../canonical/read-record.ts";
import { configurationLimits } from "../submission/read-configuration.ts";
import { documentsOf, isJobSchema, type JobSchema, type JobSchemaDocuments } from "./job-schema.ts";

/** Everything about a configuration that can be said as data. Deeply frozen. */
export interface JobConfigurationManifest {
  readonly id: string;
  readonly version: string;
  readonly schema: JobSchemaDocuments;
  readonly defaults?: JsonValue;
  readonly ui?: JsonObject;
}

/** What was noticed while defining. It does not stop anything. */
export interface JobConfigurationDiagnostic {
  /** The schema transforms in code, so a form can show what it takes and not what it gives. */
  readonly code: "OUTPUT_SCHEMA_UNAVAILABLE";
  readonly message: string;
}

/** A provider's configuration, as {@link defineConfiguration} made it. Frozen. */
export interface JobConfigurationDefinition<Schema extends JobSchema = JobSchema> {
  readonly manifest: JobConfigurationManifest;
  /** Digest of the manifest. */
  readonly manifestDigest: () => string;
  readonly schema: Schema;
  readonly diagnostics: readonly JobConfigurationDiagnostic[];
}

/** What a configuration is made of. */
export interface JobConfigurationFields<Schema extends JobSchema> {
  /** Well-formed text of 1..256 UTF-16 code units, as the version. */
  readonly id: string;
  readonly version: string;
  /** Validates a configuration at admission. Its output is stored, so it must be JSON. No side effects, the same answer each time. */
  readonly schema: Schema;
  /** Fills what a caller does not mark as supplied. As large as a configuration may be, and not checked against the schema alone. */
  readonly defaults?: NoInfer<PartialDeep<StandardSchemaV1.InferInput<Schema>>>;
  /** Hints for a form, any JSON. */
  readonly ui?: JsonObject;
}

/** Any part of a value: members left out at every level, arrays whole. */
export type PartialDeep<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: PartialDeep<T[Key]> }
    : T;

/**
 * A configuration: how a provider is set up, as a schema with defaults.
 *
 * @throws TypeError naming the field
 * @example
 * const meshConfiguration = defineConfiguration({
 *   id: "acme/mesh-configuration",
 *   version: "1",
 *   schema: toStandardJsonSchema(v.object({ cells: v.number(), seed: v.nullable(v.number()) })),
 *   defaults: { cells: 1000, seed: null },
 * });
 */
export function defineConfiguration<Schema extends JobSchema>(
  fields: JobConfigurationFields<Schema>,
): JobConfigurationDefinition<Schema> {
  const { id, version, schema, defaults, ui, ...rest } = fields;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new TypeError(`defineConfiguration: /${unknown}: no such key`);
  if (!isJobSchema(schema))
    throw new TypeError(
      "defineConfiguration: /schema: expected a Standard Schema that also gives a JSON Schema; see withJsonSchema",
    );
  const documents = documentsOf(schema, "defineConfiguration: /schema");
  const manifest: JobConfigurationManifest = Object.freeze({
    id: readIdentity({ value: id, at: ["id"] }),
    version: readIdentity({ value: version, at: ["version"] }),
    schema: documents,
    ...(defaults !== undefined && { defaults: ownJson(defaults, configurationLimits, ["defaults"]) }),
    ...(ui !== undefined && { ui: ownJson(ui, configurationLimits, ["ui"]) as JsonObject }),
  });
  const digest = digestJson(manifest);
  const definition = Object.freeze({
    manifest,
    manifestDigest: () => digest,
    schema,
    diagnostics: diagnosticsOf(documents),
  });
  defined.add(definition);
  return definition;
}

/** Whether the value came from {@link defineConfiguration}. */
export function isConfiguration(value: unknown): value is JobConfigurationDefinition {
  return typeof value === "object" && value !== null && defined.has(value);
}

const defined = new WeakSet<object>();

function diagnosticsOf({ output }: JobSchemaDocuments): readonly JobConfigurationDiagnostic[] {
  if (output !== null) return Object.freeze([]);
  const message = "the schema's output has no JSON Schema; a transformation in code cannot be described";
  return Object.freeze([Object.freeze({ code: "OUTPUT_SCHEMA_UNAVAILABLE" as const, message })]);
}
