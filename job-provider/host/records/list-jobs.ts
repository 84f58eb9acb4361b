import { instantText } from "../../../tasks/jobs/records/record-session.ts";
import type { JobLifecycleState } from "../../lifecycle/job-lifecycle.ts";
import type { JobReference } from "../../lifecycle/job-snapshot.ts";
import type { JobProviderIdentity } from "../../submission/job-submit-input.ts";
import type { JobSession } from "./job-session.ts";
import { asJson, fromJson, type JobReasonCode } from "./record-types.ts";

/** A job in a list: no input, no configuration, no result. */
export interface JobListEntry {
  readonly reference: JobReference;
  readonly revision: number;
  readonly provider: JobProviderIdentity;
  readonly state: JobLifecycleState;
  /** Why it failed or asks for attention; null otherwise. */
  readonly code: JobReasonCode | null;
  /** RFC 3339, UTC, of the database's clock. */
  readonly acceptedAt: string;
  readonly finishedAt: string | null;
}

/** Jobs by ascending id, which is about the order of their acceptance. */
export async function listJobs(
  session: JobSession,
  given: {
    readonly state?: JobLifecycleState | undefined;
    readonly providerId?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  },
): Promise<readonly JobListEntry[]> {
  const values = [session.hostId, String(given.limit)];
  // Only the filters that are asked for stand in the text, so that each combination finds its index.
  const filters: string[] = [];
  const filter = (condition: (parameter: string) => string, value: string | undefined): void => {
    if (value !== undefined) filters.push(` and ${condition(`$${values.push(value)}::text`)}`);
  };
  filter((state) => `state = ${state}`, given.state);
  filter((id) => `provider_id = ${id}`, given.providerId && asJson(given.providerId));
  filter((id) => `id > ${id}::uuid`, given.after);
  const text = `select id::text as id, revision, provider_id as provider, provider_version as version, manifest_digest as manifest,
      state, code, ${instantText("accepted_at")} as accepted, ${instantText("finished_at")} as finished
    from ${session.table("job")} where host_id = $1::text${filters.join("")} order by id limit $2::text::int`;
  const rows = await session.query(text, values);
  return rows.map((row) =>
    Object.freeze({
      reference: Object.freeze({ hostId: session.hostId, jobId: row["id"] as string }),
      revision: row["revision"] as number,
      provider: Object.freeze({
        id: fromJson(row["provider"]),
        version: fromJson(row["version"]),
        manifestDigest: row["manifest"] as string,
      }),
      state: row["state"] as JobLifecycleState,
      code: row["code"] as JobReasonCode | null,
      acceptedAt: row["accepted"] as string,
      finishedAt: row["finished"] as string | null,
    }),
  );
}
