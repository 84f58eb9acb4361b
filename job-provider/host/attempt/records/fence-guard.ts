import type { JobSession } from "../../records/job-session.ts";
import type { Fence } from "../../records/record-types.ts";

/** The first five parameters of every write of an attempt. */
export function fenceValues({ hostId }: JobSession, fence: Fence): string[] {
  return [hostId, fence.id, String(fence.dispatch), fence.jobId, String(fence.delivery)];
}

/** The guard of every write of an attempt, on the job's row `l` once that is locked: its fence, and a lease that is not over. */
export function heldBy(clock: string): string {
  return `l.host_id = $1::text and l.id = $2::text::uuid and l.dispatch = $3::text::int
      and l.job_id = $4::text and l.delivery = $5::text::int
      and l.state = 'running' and l.lease_until > ${clock}`;
}

/**
 * CTEs, of which `held` is the job's row when the attempt still holds it. The row is locked first and the fence compared after any wait for it;
 * what follows in the statement is joined with `held`, so that it happens under the lock or not at all. Only the attempt itself adds artifacts,
 * checkpoints and lines, one statement after the other, so what the statement sees of them is complete; but not what an earlier try of the
 * same statement adds, which the server may still be at when its connection is gone. Whoever is asked again has to expect that one.
 */
export function heldRow({ clock, table }: JobSession): string {
  return `locked as materialized (
      select j.* from ${table("job")} j where j.host_id = $1::text and j.id = $2::text::uuid for update
    ),
    held as materialized (select l.* from locked l where ${heldBy(clock)})`;
}

/** How an attempt is named in the rows that it wrote. */
export function attemptText({ dispatch, delivery }: Pick<Fence, "dispatch" | "delivery">): string {
  return `${dispatch}.${delivery}`;
}

/** How the fence is kept with a settlement, to know a repeated one by. */
export function fenceText({ dispatch, jobId, delivery }: Fence): string {
  return `${dispatch}/${jobId}/${delivery}`;
}
