import type { JsonValue } from "../../../../capability/index.ts";
import { canonicalJson } from "../../../canonical/canonical-json.ts";
import type { JobRevision } from "../../../submission/job-submit-input.ts";
import type { JobSession } from "../../records/job-session.ts";
import { asJson, type Fence } from "../../records/record-types.ts";
import { attemptText, fenceValues, heldBy, heldRow } from "./fence-guard.ts";
import type { CheckpointFormat } from "./read-checkpoints.ts";

/** A checkpoint whose files are sealed. */
export interface NewCheckpoint extends CheckpointFormat {
  readonly revision: JobRevision;
  /** As the provider gave it; its schema has taken it. */
  readonly metadata: JsonValue;
  /** The ordinal of the checkpoint that it follows; undefined when the job has none. */
  readonly parent: number | undefined;
}

/**
 * Records a checkpoint that follows the newest one, and covers what has been published so far. Answers its ordinal; undefined when the fence no
 * longer holds or the newest checkpoint is another one. Asking again is safe, also while the server is still at an earlier try. One call of an
 * attempt at a time.
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
      select max(c.ordinal) filter (where c.discarded_at is null) as ordinal, max(c.ordinal) as last
      from ${table("checkpoint")} c where c.job = $2::text::uuid
    )
    insert into ${table("checkpoint")} (job, ordinal, parent, artifact_sequence, admitted_at, attempt, revision, metadata,
      format, format_version)
    select held.id, coalesce(newest.last, 0) + 1, $7::text::int, held.artifact_sequence, ${clock}, $6::text, $8::text::json,
      $9::text::json, $10::text, $11::text::int
    from held, newest where newest.ordinal is not distinct from $7::text::int
    on conflict (job, ordinal) do nothing
    returning ordinal`;
  const parent = checkpoint.parent === undefined ? null : String(checkpoint.parent);
  const sealed = canonicalJson(checkpoint.revision);
  const known = [...fenceValues(session, fence), attemptText(fence), parent, sealed];
  const [row] = await session.query(text, [
    ...known,
    canonicalJson(checkpoint.metadata),
    asJson(checkpoint.format),
    String(checkpoint.formatVersion),
  ]);
  return (row?.["ordinal"] as number | undefined) ?? (await findAdmitted(session, known));
}

/**
 * The same checkpoint when an earlier try has admitted it. A statement of its own: the one before may have waited for that try, and would still
 * see the job as it was before.
 */
async function findAdmitted(
  session: JobSession,
  known: readonly (string | null)[],
): Promise<number | undefined> {
  const { clock, table } = session;
  const text = `
    select c.ordinal from ${table("job")} l join ${table("checkpoint")} c on c.job = l.id
    where ${heldBy(clock)} and c.discarded_at is null and c.attempt = $6::text
      and c.parent is not distinct from $7::text::int and c.revision::text = $8::text
    order by c.ordinal desc limit 1`;
  const [row] = await session.query(text, known);
  return row?.["ordinal"] as number | undefined;
}
