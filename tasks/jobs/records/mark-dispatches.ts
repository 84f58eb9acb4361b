import type { DispatchedTable } from "./dispatched-table.ts";

/** A dispatch that has been enqueued. */
export interface EnqueuedDispatch {
  readonly id: string;
  readonly dispatch: number;
  readonly jobId: string;
  readonly leaseSeconds: number;
}

/**
 * Stores which Jobs job carries each dispatch; a record may be named once. The first writer wins: a second job of the same dispatch is a
 * no-op when it is delivered.
 */
export async function markDispatches(
  { name, owner: [column, owner], open, clock, query }: DispatchedTable,
  enqueued: readonly EnqueuedDispatch[],
): Promise<void> {
  const text = `
    update ${name}
    set job_id = given_job, look_at = greatest(run_at, ${clock}) + make_interval(secs => given_lease)
    from json_to_recordset($2::text::json) as given (given_id uuid, given_dispatch int, given_job text, given_lease float8)
    where ${column} = $1::text and id = given_id and dispatch = given_dispatch and job_id is null and state in ${open}`;
  const given = enqueued.map(({ id, dispatch, jobId, leaseSeconds }) => ({
    given_id: id,
    given_dispatch: dispatch,
    given_job: jobId,
    given_lease: leaseSeconds,
  }));
  await query(text, [owner, JSON.stringify(given)]);
}
