import type { JobHost } from "../../job-provider/host/index.ts";
import {
  admitConfiguration,
  digestJson,
  type JobProviderDescriptor,
  type JobReference,
  type JobSnapshot,
  type JobSubmitInput,
} from "../../job-provider/index.ts";
import { runnableJobProvider } from "../../job-provider/provider/define-job-provider.ts";
import { CommandFailure } from "../app-command/command-failure.ts";

/** A request whose key belongs to a job of another one. */
export interface KeyConflict {
  readonly request: JobSubmitInput;
  /** The job that holds the key. */
  readonly reference: JobReference;
  /** Those of the host. */
  readonly providers: readonly JobProviderDescriptor[];
}

/** What to say of a taken key: that there is a job, which one, and in what it differs. Whoever just takes another key has the work done twice. */
export async function keyConflict(host: JobHost, conflict: KeyConflict): Promise<CommandFailure> {
  const { jobId } = conflict.reference;
  const job = await host.get(conflict.reference);
  const parts = job === null ? [] : await differences(job, conflict);
  const having = parts.length === 0 ? "" : `, which has another ${parts.join(" and another ")}`;
  return new CommandFailure(
    2,
    "SUBMISSION_KEY_CONFLICT",
    `there is a job under this key, ${jobId}${having}: look at it (get ${jobId}) before you take another key, which makes a second job`,
  );
}

async function differences(job: JobSnapshot, { request, providers }: KeyConflict): Promise<string[]> {
  const { provider, input } = request;
  const parts: string[] = [];
  if (job.provider.id !== provider.id) parts.push("provider");
  else if (job.provider.version !== provider.version) parts.push("provider version");
  else if (job.provider.manifestDigest !== provider.manifestDigest) parts.push("provider manifest");
  if (digestJson(job.input) !== digestJson(input)) parts.push("input");
  // The record has the effective configuration alone, so it is compared with what the present provider makes of the request's.
  const effective = await effectiveDigest(request, providers);
  if (parts.length === 0 || (effective !== undefined && effective !== job.configuration.digest))
    parts.push("configuration");
  return parts;
}

async function effectiveDigest(
  { provider: { id }, configuration }: JobSubmitInput,
  providers: readonly JobProviderDescriptor[],
): Promise<string | undefined> {
  const provider = providers.find((each) => each.id === id);
  if (provider === undefined) return undefined;
  const { manifestDigest } = provider;
  const admission = await admitConfiguration({
    definition: runnableJobProvider(provider).configuration,
    providerManifestDigest: manifestDigest,
    seenManifestDigest: manifestDigest,
    configuration,
  }).catch(() => undefined);
  return admission?.ok === true ? admission.configuration.digest : undefined;
}
