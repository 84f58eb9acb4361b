import type { HostParts } from "../host-parts.ts";
import { readableArtifacts } from "../readable-artifacts.ts";
import { readJob } from "../records/read-job.ts";
import { type JobCallOutcome, refuseCall } from "./job-call-outcome.ts";
import { readGiven, runExtension, validateExtensionInput } from "./run-extension.ts";

/** Asks a job's provider, in this process; nothing is recorded. */
export async function queryJob(
  host: HostParts,
  id: string,
  asked: { readonly name: string; readonly value: unknown; readonly signal: AbortSignal },
): Promise<JobCallOutcome> {
  const snapshot = await readJob(host.records, id);
  if (snapshot === undefined) return refuseCall("JOB_NOT_FOUND");
  const provider = host.providers.get(snapshot.provider.id);
  if (provider === undefined) return refuseCall("PROVIDER_NOT_FOUND");
  const query = provider.runnable.queries.find(({ name }) => name === asked.name);
  if (query === undefined) return refuseCall("OPERATION_NOT_FOUND");
  const given = readGiven(asked.value);
  if (!given.ok) return given;
  const read = await validateExtensionInput(query, given.value);
  if (!read.ok) return read;
  const artifacts = await readableArtifacts(host, id);
  asked.signal.throwIfAborted();
  return runExtension(host, query, { snapshot, input: read.input, artifacts, signal: asked.signal });
}
