import type { StandardSchemaV1 } from "@standard-schema/spec";
import { readIdentity } from "../canonical/read-record.ts";
import { isJobSchema, type JobSchema, type JobSchemaDocuments } from "../configuration/job-schema.ts";
import type { JobSnapshot } from "../lifecycle/job-snapshot.ts";
import type { JobReadableArtifact } from "./job-artifact.ts";

/** What a query or a command is asked with. */
export interface JobExtensionCall<InputSchema extends JobSchema = JobSchema> {
  readonly input: StandardSchemaV1.InferOutput<InputSchema>;
  /** The job as it was when the call began. */
  readonly snapshot: JobSnapshot;
  /** What the job has published, read-only. */
  readonly artifacts: readonly JobReadableArtifact[];
  readonly signal: AbortSignal;
}

/** A question about a job. It changes nothing, and runs in the process that was asked. */
export interface JobQueryDefinition<
  Name extends string = string,
  InputSchema extends JobSchema = JobSchema,
  ResultSchema extends JobSchema = JobSchema,
> {
  /** Unique among the queries and commands of a provider, 1..256 UTF-16 code units. */
  readonly name: Name;
  readonly inputSchema: InputSchema;
  /** Validates what `execute` returns. */
  readonly resultSchema: ResultSchema;
  execute(
    call: JobExtensionCall<InputSchema>,
  ): StandardSchemaV1.InferInput<ResultSchema> | Promise<StandardSchemaV1.InferInput<ResultSchema>>;
}

/** A query or a command as data. */
export interface JobExtensionDescriptor {
  readonly name: string;
  readonly inputSchema: JobSchemaDocuments;
  readonly resultSchema: JobSchemaDocuments;
}

/**
 * A query, with its name and schema types kept. Frozen.
 *
 * @throws TypeError naming the field
 */
export function defineJobQuery<
  const Name extends string,
  InputSchema extends JobSchema,
  ResultSchema extends JobSchema,
>(
  definition: JobQueryDefinition<Name, InputSchema, ResultSchema>,
): JobQueryDefinition<Name, InputSchema, ResultSchema> {
  checkExtension("defineJobQuery", definition, ["name", "inputSchema", "resultSchema", "execute"]);
  return Object.freeze({ ...definition });
}

/** What holds for queries and commands alike. @throws TypeError naming the field */
export function checkExtension(what: string, definition: JobQueryDefinition, keys: readonly string[]): void {
  const unknown = Object.keys(definition).find((key) => !keys.includes(key));
  if (unknown !== undefined) throw new TypeError(`${what}: /${unknown}: no such key`);
  readIdentity({ value: definition.name, at: [what, "name"] });
  for (const key of ["inputSchema", "resultSchema"] as const) {
    if (!isJobSchema(definition[key]))
      throw new TypeError(`${what}: /${key}: expected a Standard Schema that also gives a JSON Schema`);
  }
  if (typeof definition.execute !== "function")
    throw new TypeError(`${what}: /execute: expected a function, got ${typeof definition.execute}`);
}
