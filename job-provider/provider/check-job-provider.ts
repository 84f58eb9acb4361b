import { digestJson } from "../canonical/digest.ts";
import { ownJson } from "../canonical/own-json.ts";
import { refuse } from "../canonical/pointer-text.ts";
import { type Member, readIdentity, readInteger, readList, readRecord } from "../canonical/read-record.ts";
import { isConfiguration } from "../configuration/define-configuration.ts";
import {
  documentsOf,
  isJobSchema,
  type JobSchema,
  type JobSchemaDocuments,
} from "../configuration/job-schema.ts";
import { checkArtifacts } from "./check-artifacts.ts";
import { checkRequirements } from "./check-requirements.ts";
import { type JobCommandDescriptor, jobCommandReplayPolicies } from "./define-job-command.ts";
import type { RunnableJobProvider } from "./define-job-provider.ts";
import type { JobExtensionDescriptor } from "./define-job-query.ts";
import { DECLARATION_LIMIT, type JobProviderDescriptor } from "./job-provider-descriptor.ts";
import type { JobRecovery, JobRecoveryDescriptor } from "./job-recovery.ts";

/** A provider's definition as data, and what of it is no data. @throws TypeError naming the field */
export function checkJobProvider(definition: unknown): {
  readonly descriptor: JobProviderDescriptor;
  readonly kept: RunnableJobProvider;
} {
  const fields = readRecord({ value: definition, at: [] }, required, optional);
  const recovery = readRecovery(fields.recovery);
  const { configuration, resultSchema, execute } = fields;
  if (!isConfiguration(configuration.value))
    return refuse(configuration.at, "expected what defineConfiguration returned");
  const { value: schema } = resultSchema;
  const queries = readExtensions(fields.queries);
  const commands = readExtensions(fields.commands, true);
  checkNames([...queries, ...commands]);
  const manifest = ownJson({
    id: readIdentity(fields.id),
    kind: readIdentity(fields.kind),
    kindVersion: readInteger(fields.kindVersion, 1, Number.MAX_SAFE_INTEGER),
    version: readIdentity(fields.version),
    configuration: configuration.value.manifest,
    resultSchema: readDocuments(resultSchema),
    maxAttempts: fields.maxAttempts ? readInteger(fields.maxAttempts, 1, 100) : 3,
    requirements: fields.requirements ? checkRequirements(fields.requirements) : [],
    artifacts: fields.artifacts ? checkArtifacts(fields.artifacts) : [],
    recovery: recovery.descriptor,
    queries: queries.map(({ descriptor }) => descriptor),
    commands: commands.map(({ descriptor }) => descriptor),
  }) as unknown as Omit<JobProviderDescriptor, "manifestDigest">;
  return {
    descriptor: Object.freeze({ ...manifest, manifestDigest: digestJson(manifest) }),
    kept: Object.freeze({
      configuration: configuration.value,
      resultSchema: schema as JobSchema,
      recovery: recovery.kept,
      queries: Object.freeze(queries.map(({ kept }) => kept)),
      commands: Object.freeze(commands.map(({ kept }) => kept)),
      execute: readFunction<RunnableJobProvider["execute"]>(execute),
    }) as RunnableJobProvider,
  };
}

const required = [
  "id",
  "kind",
  "kindVersion",
  "version",
  "configuration",
  "resultSchema",
  "recovery",
  "execute",
] as const;
const optional = ["maxAttempts", "requirements", "artifacts", "queries", "commands"] as const;

function readDocuments({ value, at }: Member): JobSchemaDocuments {
  if (!isJobSchema(value))
    return refuse(at, "expected a Standard Schema that also gives a JSON Schema; see withJsonSchema");
  return documentsOf(value, `/${at.join("/")}`);
}

function readFunction<T>({ value, at }: Member): T {
  return typeof value === "function" ? (value as T) : refuse(at, "expected a function");
}

function readRecovery(member: Member): {
  readonly descriptor: JobRecoveryDescriptor;
  readonly kept: JobRecovery;
} {
  const { mode } = readRecord(member, ["mode"], ["format", "formatVersion", "metadataSchema", "compatible"]);
  if (mode.value === "restart-from-input" || mode.value === "reconcile-external-effect") {
    readRecord(member, ["mode"]);
    const recovery = Object.freeze({ mode: mode.value });
    return { descriptor: recovery, kept: recovery };
  }
  if (mode.value !== "checkpoint")
    return refuse(mode.at, "expected restart-from-input, checkpoint or reconcile-external-effect");
  const keys = ["mode", "format", "formatVersion", "metadataSchema", "compatible"] as const;
  const fields = readRecord(member, keys);
  const data = {
    mode: mode.value,
    format: readIdentity(fields.format),
    formatVersion: readInteger(fields.formatVersion, 1, Number.MAX_SAFE_INTEGER),
  } as const;
  const compatible = readFunction<(metadata: unknown) => boolean>(fields.compatible);
  return {
    descriptor: { ...data, metadataSchema: readDocuments(fields.metadataSchema) },
    kept: Object.freeze({ ...data, metadataSchema: fields.metadataSchema.value as JobSchema, compatible }),
  };
}

interface Extension {
  readonly descriptor: JobExtensionDescriptor | JobCommandDescriptor;
  readonly kept: unknown;
  readonly member: Member;
}

function readExtensions(list: Member | undefined, areCommands = false): readonly Extension[] {
  if (list === undefined) return [];
  const keys = ["name", "inputSchema", "resultSchema", "execute"] as const;
  return readList(list, DECLARATION_LIMIT).map((member) => {
    const fields = readRecord(member, areCommands ? [...keys, "replayPolicy" as const] : keys);
    const execute = readFunction(fields.execute);
    const policy = areCommands ? { replayPolicy: readPolicy(fields) } : {};
    const name = readIdentity(fields.name);
    const descriptor = {
      name,
      inputSchema: readDocuments(fields.inputSchema),
      resultSchema: readDocuments(fields.resultSchema),
      ...policy,
    };
    const schemas = { inputSchema: fields.inputSchema.value, resultSchema: fields.resultSchema.value };
    return { descriptor, kept: Object.freeze({ name, ...schemas, ...policy, execute }), member };
  });
}

function readPolicy(fields: Readonly<Record<string, Member>>): string {
  const policy = fields["replayPolicy"] as Member;
  return jobCommandReplayPolicies.some((known) => known === policy.value)
    ? (policy.value as string)
    : refuse(policy.at, `expected one of ${jobCommandReplayPolicies.join(", ")}`);
}

function checkNames(extensions: readonly Extension[]): void {
  const names = new Set<string>();
  for (const { descriptor, member } of extensions) {
    if (names.has(descriptor.name))
      refuse([...member.at, "name"], "the name is taken by a query or a command");
    if (names.size === DECLARATION_LIMIT)
      refuse(member.at, `more than ${DECLARATION_LIMIT} queries and commands together`);
    names.add(descriptor.name);
  }
}
