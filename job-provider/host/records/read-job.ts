import { ownJson } from "../../canonical/own-json.ts";
import type { JobLifecycleState } from "../../lifecycle/job-lifecycle.ts";
import type { JobSnapshot } from "../../lifecycle/job-snapshot.ts";
import type { JobInput } from "../../submission/job-submit-input.ts";
import type { JobSession } from "./job-session.ts";
import { fromJson } from "./record-types.ts";

/** A job's stored snapshot, deeply frozen; undefined when there is no such job. */
export async function readJob(session: JobSession, id: string): Promise<JobSnapshot | undefined> {
  const text = `select revision, state, provider_id as provider, provider_version as version, manifest_digest as manifest,
      input::text as input, configuration::text as configuration, configuration_digest as digest
    from ${session.table("job")} where host_id = $1::text and id = $2::text::uuid`;
  const [row] = await session.query(text, [session.hostId, id]);
  if (row === undefined) return undefined;
  const manifestDigest = row["manifest"] as string;
  return Object.freeze({
    reference: Object.freeze({ hostId: session.hostId, jobId: id }),
    revision: row["revision"] as number,
    provider: Object.freeze({
      id: fromJson(row["provider"]),
      version: fromJson(row["version"]),
      manifestDigest,
    }),
    input: ownJson(JSON.parse(row["input"] as string)) as unknown as JobInput,
    configuration: Object.freeze({
      value: ownJson(JSON.parse(row["configuration"] as string)),
      digest: row["digest"] as string,
      providerManifestDigest: manifestDigest, // a configuration is admitted under the manifest that the caller saw
    }),
    state: row["state"] as JobLifecycleState,
  });
}
