import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JobSchema } from "../configuration/job-schema.ts";
import {
  checkExtension,
  type JobExtensionCall,
  type JobExtensionDescriptor,
  type JobQueryDefinition,
} from "./define-job-query.ts";

/** What becomes of a command whose process died before it was recorded how it ended. */
export const jobCommandReplayPolicies = [
  /** Run again under the same command id: `execute` must know the id, or repeat without harm. */
  "replay-safe",
  /** The job asks for attention: a person finds out. */
  "reconcile-required",
  /** Refused as unknown for ever. */
  "non-replayable",
] as const;

/** What becomes of a command whose outcome is unknown. */
export type JobCommandReplayPolicy = (typeof jobCommandReplayPolicies)[number];

/** A query's call, and which command it is. */
export interface JobCommandCall<InputSchema extends JobSchema = JobSchema>
  extends JobExtensionCall<InputSchema> {
  /** The caller's name for this command, the same when it is run again. */
  readonly commandId: string;
}

/** A request to a job that may have effects, run under a record in the process that was asked. */
export interface JobCommandDefinition<
  Name extends string = string,
  InputSchema extends JobSchema = JobSchema,
  ResultSchema extends JobSchema = JobSchema,
  Policy extends JobCommandReplayPolicy = JobCommandReplayPolicy,
> extends Omit<JobQueryDefinition<Name, InputSchema, ResultSchema>, "execute"> {
  readonly replayPolicy: Policy;
  execute(
    call: JobCommandCall<InputSchema>,
  ): StandardSchemaV1.InferInput<ResultSchema> | Promise<StandardSchemaV1.InferInput<ResultSchema>>;
}

/** A command as data. */
export interface JobCommandDescriptor extends JobExtensionDescriptor {
  readonly replayPolicy: JobCommandReplayPolicy;
}

/**
 * A command, with its name and schema types kept. Frozen.
 *
 * @throws TypeError naming the field
 */
export function defineJobCommand<
  const Name extends string,
  InputSchema extends JobSchema,
  ResultSchema extends JobSchema,
  const Policy extends JobCommandReplayPolicy,
>(
  definition: JobCommandDefinition<Name, InputSchema, ResultSchema, Policy>,
): JobCommandDefinition<Name, InputSchema, ResultSchema, Policy> {
  const keys = ["name", "inputSchema", "resultSchema", "replayPolicy", "execute"];
  checkExtension("defineJobCommand", definition, keys);
  if (!jobCommandReplayPolicies.includes(definition.replayPolicy))
    throw new TypeError(
      `defineJobCommand: /replayPolicy: expected one of ${jobCommandReplayPolicies.join(", ")}`,
    );
  return Object.freeze({ ...definition });
}
