import type { JobSession } from "../../records/job-session.ts";
import type { Fence } from "../../records/record-types.ts";
import { fenceValues, heldRow } from "./fence-guard.ts";

/**
 * Records that the provider is called now, and where it goes on: at a checkpoint, or from the input (undefined). Checkpoints after that one no
 * longer count, and neither does what was published after it. False when the fence no longer holds; then the provider must not be called.
 * Asking again is safe.
 */
export async function enterExecution(
  session: JobSession,
  fence: Fence,
  resumedFrom: number | undefined,
): Promise<boolean> {
  const { clock, table } = session;
  const text = `
    with ${heldRow(session)},
    entered as (
      update ${table("job")} j set entered = true, unentered = 0, resumed_from = $6::text::int from held where j.id = held.id
    ),
    checkpoints as (
      update ${table("checkpoint")} c set discarded_at = ${clock} from held
      where c.job = held.id and c.discarded_at is null and c.ordinal > coalesce($6::text::int, 0)
    ),
    artifacts as (
      update ${table("artifact")} a set discarded_at = ${clock} from held
      where a.job = held.id and a.discarded_at is null and a.sequence > coalesce((select c.artifact_sequence
        from ${table("checkpoint")} c where c.job = held.id and c.ordinal = $6::text::int), 0)
    )
    select count(*)::int as held from held`;
  const values = [...fenceValues(session, fence), resumedFrom === undefined ? null : String(resumedFrom)];
  const [row] = await session.query(text, values);
  return row?.["held"] === 1;
}
