import type { JsonValue } from "../../../../capability/index.ts";
import { ownJson } from "../../../canonical/own-json.ts";
import type { JobRevision } from "../../../submission/job-submit-input.ts";
import type { JobSession } from "../../records/job-session.ts";
import { asJson } from "../../records/record-types.ts";

/** What the files of a checkpoint are. */
export interface CheckpointFormat {
  readonly format: string;
  readonly formatVersion: number;
}

/** A checkpoint that was admitted and still counts. */
export interface AdmittedCheckpoint {
  /** Integer from 1; the newest has the highest. */
  readonly ordinal: number;
  readonly revision: JobRevision;
  /** As it was given when the checkpoint was published: not yet what a schema makes of it. Deeply frozen, as the revision. */
  readonly metadata: JsonValue;
}

/** How many checkpoints are looked at for a compatible one: behind so many that are not, from the input is the better choice. */
const looksAt = 100;

/** The newest checkpoints of a job in a format, newest first. */
export async function readCheckpoints(
  session: JobSession,
  id: string,
  { format, formatVersion }: CheckpointFormat,
): Promise<readonly AdmittedCheckpoint[]> {
  const text = `
    select c.ordinal, c.revision::text as revision, c.metadata::text as metadata
    from ${session.table("checkpoint")} c join ${session.table("job")} j on j.id = c.job
    where j.host_id = $1::text and c.job = $2::text::uuid and c.discarded_at is null
      and c.format = $3::text and c.format_version = $4::text::int
    order by c.ordinal desc limit ${looksAt}`;
  const rows = await session.query(text, [session.hostId, id, asJson(format), String(formatVersion)]);
  return rows.map((row) => ({
    ordinal: row["ordinal"] as number,
    revision: ownJson(JSON.parse(row["revision"] as string)) as unknown as JobRevision,
    metadata: ownJson(JSON.parse(row["metadata"] as string)),
  }));
}
