import type { JobContent } from "../../../ports/job-content.ts";
import type { JobSession } from "../../records/job-session.ts";
import { fromJson } from "../../records/record-types.ts";

/** An artifact that counts. */
export interface KeptArtifact extends JobContent {
  readonly role: string;
}

/** What a job has published: the latest of each role and path that was not discarded. */
export async function keptArtifacts(session: JobSession, id: string): Promise<readonly KeptArtifact[]> {
  const text = `
    select distinct on (a.role, a.path) a.role, a.length::text as length, a.digest
    from ${session.table("artifact")} a join ${session.table("job")} j on j.id = a.job
    where j.host_id = $1::text and a.job = $2::text::uuid and a.discarded_at is null
    order by a.role, a.path, a.sequence desc`;
  const rows = await session.query(text, [session.hostId, id]);
  return rows.map((row) => ({
    role: fromJson(row["role"]),
    length: Number(row["length"]),
    digest: row["digest"] as string,
  }));
}
