import type { JobPublishedArtifact } from "../../provider/job-artifact.ts";
import type { JobSession } from "./job-session.ts";
import { fromJson } from "./record-types.ts";

/** What a job has published and what counts of it, in the order of publication: the latest of each role and path that was not discarded. */
export async function listArtifacts(
  session: JobSession,
  id: string,
): Promise<readonly JobPublishedArtifact[]> {
  const text = `select latest.* from (
      select distinct on (a.role, a.path) a.sequence, a.id, a.role, a.path, a.media_type as media, a.length::text as length, a.digest
      from ${session.table("artifact")} a join ${session.table("job")} j on j.id = a.job
      where j.host_id = $1::text and a.job = $2::text::uuid and a.discarded_at is null
      order by a.role, a.path, a.sequence desc) latest
    order by latest.sequence`;
  const rows = await session.query(text, [session.hostId, id]);
  return rows.map((row) => ({
    id: row["id"] as string,
    role: fromJson(row["role"]),
    path: fromJson(row["path"]),
    mediaType: row["media"] as string,
    length: Number(row["length"]),
    digest: row["digest"] as string,
  }));
}
