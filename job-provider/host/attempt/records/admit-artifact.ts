import type { JobPublishedArtifact } from "../../../provider/job-artifact.ts";
import type { JobSession } from "../../records/job-session.ts";
import { asJson, type Fence } from "../../records/record-types.ts";
import { attemptText, fenceValues, heldRow } from "./fence-guard.ts";

/** What became of a publication. `full`: the role has its maximum already. `lost`: the fence no longer holds. */
export type ArtifactAdmission = "admitted" | "full" | "lost";

/**
 * Records an artifact whose bytes are stored. The same role and path replaces. Asking again with the same id is safe, also while the server is
 * still at an earlier try: the id is recorded once. One call of an attempt at a time: what counts is counted as it was when the statement began.
 */
export async function admitArtifact(
  session: JobSession,
  fence: Fence,
  artifact: JobPublishedArtifact,
  maximum: number,
): Promise<ArtifactAdmission> {
  const { clock, table } = session;
  const others = `select count(distinct a.path) from ${table("artifact")} a where a.job = $2::text::uuid
        and a.discarded_at is null and a.role = $8::text and a.path <> $9::text`;
  const text = `
    with ${heldRow(session)},
    fits as materialized (select held.* from held where (${others}) < $13::text::bigint),
    added as (
      insert into ${table("artifact")}
        (job, sequence, length, published_at, id, role, path, media_type, digest, attempt)
      select fits.id, fits.artifact_sequence + 1, $11::text::bigint, ${clock}, $7::text, $8::text, $9::text, $10::text,
        $12::text, $6::text
      from fits
      on conflict (job, id) do nothing
      returning job, sequence
    ),
    counted as (
      update ${table("job")} j set artifact_sequence = added.sequence from added where j.id = added.job
    )
    select case when not exists (select from held) then 'lost'
      when exists (select from fits) then 'admitted' else 'full' end as outcome`;
  const [row] = await session.query(text, [
    ...fenceValues(session, fence),
    attemptText(fence),
    artifact.id,
    asJson(artifact.role),
    asJson(artifact.path),
    artifact.mediaType,
    String(artifact.length),
    artifact.digest,
    String(maximum),
  ]);
  return row?.["outcome"] as ArtifactAdmission;
}
