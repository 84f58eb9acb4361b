import { canonicalJson } from "../../../canonical/canonical-json.ts";
import type { JobSession } from "../../records/job-session.ts";
import type { Fence } from "../../records/record-types.ts";
import { attemptText, fenceValues, heldRow } from "./fence-guard.ts";
import type { AdmittedCheckpoint } from "./read-checkpoints.ts";

/** A checkpoint whose files are sealed. */
export interface NewCheckpoint extends Omit<AdmittedCheckpoint, "ordinal"> {
  /** The ordinal of the checkpoint that it follows; undefined when the job has none. */
  readonly parent: number | undefined;
}

/**
 * Records a checkpoint that follows the newest one, and covers what has been published so far. Answers its ordinal; undefined when the fence no
 * longer holds or the newest checkpoint is another one. Asking again is safe. One call of an attempt at a time.
 */
export async function admitCheckpoint(
  session: JobSession,
  fence: Fence,
  checkpoint: NewCheckpoint,
): Promise<number | undefined> {
  const { clock, table } = session;
  const text = `
    with ${heldRow(session)},
    newest as materialized (
      select c.ordinal, c.parent, c.revision::text as revision, c.attempt from ${table("checkpoint")} c
      where c.job = $2::text::uuid and c.discarded_at is null order by c.ordinal desc limit 1
    ),
    added as (
      insert into ${table("checkpoint")}
        (job, ordinal, parent, artifact_sequence, admitted_at, attempt, revision, metadata)
      select held.id, coalesce((select max(c.ordinal) from ${table("checkpoint")} c where c.job = held.id), 0) + 1,
        $7::text::int, held.artifact_sequence, ${clock}, $6::text, $8::text::json, $9::text::json
      from held where (select ordinal from newest) is not distinct from $7::text::int
      returning ordinal
    )
    select ordinal from added
    union all
    select newest.ordinal from newest, held
    where newest.parent is not distinct from $7::text::int and newest.revision = $8::text and newest.attempt = $6::text`;
  const [row] = await session.query(text, [
    ...fenceValues(session, fence),
    attemptText(fence),
    checkpoint.parent === undefined ? null : String(checkpoint.parent),
    canonicalJson(checkpoint.revision),
    canonicalJson(checkpoint.metadata),
  ]);
  return row?.["ordinal"] as number | undefined;
}
