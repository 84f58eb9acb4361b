import { admitConfiguration } from "../../configuration/admit-configuration.ts";
import type { JobEffectiveConfiguration } from "../../lifecycle/job-snapshot.ts";
import { matchHostCapabilities } from "../../provider/match-host-capabilities.ts";
import type { JobInput, JobSubmitInput } from "../../submission/job-submit-input.ts";
import type { JobRefusalCode, JobValidationIssue } from "../../submission/job-submit-outcome.ts";
import { layoutProblems } from "../../tree/layout-problems.ts";
import type { JobTreeEntry } from "../../tree/tree-digest.ts";
import { treeDigest } from "../../tree/tree-digest.ts";
import type { HostedProvider, HostParts } from "../host-parts.ts";
import { JobHostError } from "../job-host-error.ts";

/** Why a submission is refused. */
export interface Refusal {
  readonly ok: false;
  readonly code: JobRefusalCode;
  readonly issues?: readonly JobValidationIssue[];
}

/** What a submission becomes a job with. */
export type Admission =
  | {
      readonly ok: true;
      readonly provider: HostedProvider;
      readonly configuration: JobEffectiveConfiguration;
    }
  | Refusal;

/** Most files that are missing or do not fit that are told of one submission. */
const issueLimit = 100;

/**
 * Looks whether the host can take a submission: the provider as the caller saw it, the host's facts, the sealed input with the selected files,
 * which an attempt has to be able to have side by side, and the configuration, in this order.
 *
 * @throws JobHostError `store-failed` or `provider-failed`; the signal's reason
 */
export async function admitSubmission(host: HostParts, request: JobSubmitInput): Promise<Admission> {
  const { id, version, manifestDigest } = request.provider;
  const provider = host.providers.get(id);
  if (provider?.descriptor.version !== version) return { ok: false, code: "PROVIDER_NOT_FOUND" };
  const { descriptor, runnable } = provider;
  if (descriptor.manifestDigest !== manifestDigest) return { ok: false, code: "PROVIDER_MANIFEST_CHANGED" };
  const match = matchHostCapabilities(descriptor.requirements, host.capabilities);
  if (!match.ok) return { ok: false, code: "REQUIREMENT_NOT_MET" };
  const refusal = await refuseInput(host, request.input, request.signal);
  if (refusal !== undefined) return refusal;
  const admission = await admitConfiguration({
    definition: runnable.configuration,
    providerManifestDigest: descriptor.manifestDigest,
    seenManifestDigest: manifestDigest,
    configuration: request.configuration,
  }).catch((cause: unknown) => {
    throw new JobHostError("provider-failed", { cause });
  });
  return admission.ok ? { ok: true, provider, configuration: admission.configuration } : admission;
}

async function refuseInput(
  { revisions }: HostParts,
  { revision, paths }: JobInput,
  signal: AbortSignal | undefined,
): Promise<Refusal | undefined> {
  if (revision.authorityId !== revisions.authorityId) return { ok: false, code: "REVISION_NOT_FOUND" };
  let entries: readonly JobTreeEntry[] | undefined;
  let digest: string;
  try {
    entries = await revisions.list(revision, signal && { signal });
    if (entries === undefined) return { ok: false, code: "REVISION_NOT_FOUND" };
    digest = treeDigest(entries);
  } catch (cause) {
    signal?.throwIfAborted();
    throw new JobHostError("store-failed", { cause });
  }
  if (digest !== revision.treeDigest) return { ok: false, code: "REVISION_CHANGED" };
  const files = new Set(entries.map(({ path }) => path));
  const misfits = layoutProblems(paths);
  const issues = paths
    .map((path, index) => ({
      pointer: `/input/paths/${index}`,
      message: files.has(path) ? misfits.get(path) : "the revision has no such file",
    }))
    .filter((issue): issue is JobValidationIssue => issue.message !== undefined)
    .slice(0, issueLimit)
    .map((issue) => Object.freeze(issue));
  return issues.length === 0
    ? undefined
    : { ok: false, code: "INPUT_FILE_MISSING", issues: Object.freeze(issues) };
}
