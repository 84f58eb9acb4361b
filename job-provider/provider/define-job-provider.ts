import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JobConfigurationDefinition } from "../configuration/define-configuration.ts";
import type { JobSchema } from "../configuration/job-schema.ts";
import type { JobProviderAttemptServices, JobProviderExecuteInput } from "./attempt-services.ts";
import { checkJobProvider } from "./check-job-provider.ts";
import type { JobCommandDefinition } from "./define-job-command.ts";
import type { JobQueryDefinition } from "./define-job-query.ts";
import type { JobArtifactDeclaration } from "./job-artifact.ts";
import type { JobProviderDescriptor } from "./job-provider-descriptor.ts";
import type { JobRecovery } from "./job-recovery.ts";
import type { JobRequirement } from "./job-requirement.ts";

/** Any query, whatever its types. */
export type AnyJobQuery = JobQueryDefinition;
/** Any command, whatever its types. */
export type AnyJobCommand = JobCommandDefinition;

/** What a provider is made of. */
export interface JobProviderDefinition<
  Id extends string = string,
  ConfigurationSchema extends JobSchema = JobSchema,
  ResultSchema extends JobSchema = JobSchema,
  Role extends string = string,
  MetadataSchema extends JobSchema = never,
  Queries extends readonly AnyJobQuery[] = readonly AnyJobQuery[],
  Commands extends readonly AnyJobCommand[] = readonly AnyJobCommand[],
> {
  /** Unique in a host. 1..256 UTF-16 code units, as kind and version. */
  readonly id: Id;
  readonly kind: string;
  /** Integer from 1; another one means other results. */
  readonly kindVersion: number;
  readonly version: string;
  /** From `defineConfiguration`. */
  readonly configuration: JobConfigurationDefinition<ConfigurationSchema>;
  /** Validates what `execute` returns; its output is the job's result. */
  readonly resultSchema: ResultSchema;
  /** Integer 1..100, the first attempt included. Only a lost or interrupted attempt is tried again. Default 3. */
  readonly maxAttempts?: number;
  /** At most 128. Default: none. */
  readonly requirements?: readonly JobRequirement[];
  /** At most 128, of different roles. Default: none. */
  readonly artifacts?: readonly JobArtifactDeclaration<Role>[];
  readonly recovery: JobRecovery<MetadataSchema>;
  /** At most 128 together with the commands, of different names. Default: none. */
  readonly queries?: Queries;
  readonly commands?: Commands;
  /**
   * The work of one attempt; returns the raw result. What it throws fails the job, and is never stored. An attempt may be lost at any moment
   * and be followed by another: make effects repeatable, or choose `reconcile-external-effect`.
   */
  execute(
    input: JobProviderExecuteInput<StandardSchemaV1.InferOutput<ConfigurationSchema>, MetadataSchema>,
    services: JobProviderAttemptServices<Role, MetadataSchema>,
  ): StandardSchemaV1.InferInput<ResultSchema> | Promise<StandardSchemaV1.InferInput<ResultSchema>>;
}

/** Under which a registration keeps its functions: not enumerable, so that as JSON it is only the descriptor. */
export const jobProviderDefinition: unique symbol = Symbol.for(
  "lenso-jobs-plugin/job-provider/definition",
) as never;

/** A provider's descriptor that a host can run: the functions are behind a symbol. Deeply frozen. */
export type JobProviderRegistration<Definition extends { readonly id: string } = { readonly id: string }> =
  JobProviderDescriptor<Definition["id"]> & { readonly [jobProviderDefinition]: Definition };

/** Gives the registration of a provider, the same one at every call. */
export type JobProviderFactory<Definition extends { readonly id: string } = { readonly id: string }> =
  () => JobProviderRegistration<Definition>;

/**
 * A provider of jobs: a configuration, a result, and the work between them.
 *
 * @returns a factory for a plugin or a host to call
 * @throws TypeError naming the field
 * @example
 * export const mesh = defineJobProvider({
 *   id: "acme/mesh", kind: "mesh", kindVersion: 1, version: "2.1.0",
 *   configuration: meshConfiguration,
 *   resultSchema: toStandardJsonSchema(v.object({ cells: v.number() })),
 *   artifacts: [{ role: "mesh", mediaTypes: ["model/vtk"], minimum: 1, maximum: 1 }],
 *   recovery: { mode: "restart-from-input" },
 *   async execute({ configuration }, { workspace, publishArtifact, signal }) {
 *     const cells = await runMesher(workspace.path, configuration, signal);
 *     await publishArtifact({ role: "mesh", path: "mesh.vtk", mediaType: "model/vtk" });
 *     return { cells };
 *   },
 * });
 */
export function defineJobProvider<
  const Id extends string,
  ConfigurationSchema extends JobSchema,
  ResultSchema extends JobSchema,
  const Role extends string = never,
  MetadataSchema extends JobSchema = never,
  const Queries extends readonly AnyJobQuery[] = readonly [],
  const Commands extends readonly AnyJobCommand[] = readonly [],
>(
  definition: JobProviderDefinition<
    Id,
    ConfigurationSchema,
    ResultSchema,
    Role,
    MetadataSchema,
    Queries,
    Commands
  >,
): JobProviderFactory<
  JobProviderDefinition<Id, ConfigurationSchema, ResultSchema, Role, MetadataSchema, Queries, Commands>
> {
  const { descriptor, kept } = checkJobProvider(definition);
  const registration = { ...descriptor };
  Object.defineProperty(registration, jobProviderDefinition, { value: kept });
  Object.freeze(registration);
  return Object.freeze(() => registration as never);
}

/** A definition as a host runs it, whatever its types were: the host validates what goes in and what comes out. */
export interface RunnableJobProvider {
  readonly configuration: JobConfigurationDefinition;
  readonly resultSchema: JobSchema;
  readonly recovery: JobRecovery;
  readonly queries: readonly AnyJobQuery[];
  readonly commands: readonly AnyJobCommand[];
  execute(input: unknown, services: unknown): unknown;
}

/** The functions and schemas behind a registration, for a host. @throws TypeError for a value that did not come from a provider's factory */
export function runnableJobProvider(registration: JobProviderDescriptor): RunnableJobProvider {
  const kept: unknown = Object.getOwnPropertyDescriptor(registration, jobProviderDefinition)?.value;
  if (kept === undefined)
    throw new TypeError(
      "expected a registration as a provider's factory gives it, got a copy or another value: call the factory",
    );
  return kept as RunnableJobProvider;
}
