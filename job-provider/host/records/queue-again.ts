/** How soon the sweep looks at a dispatch that somebody has just recorded and is about to enqueue, in seconds. */
export const dispatchGraceSeconds = 2;

/**
 * The part of a move's `set` that opens the next dispatch of a job whose path ends in `queued`, and so voids every fence that was handed
 * out before. `runAt`: when it may run, as SQL.
 */
export function queueAgain(runAt: string): string {
  const queued = "l.path[cardinality(l.path)] = 'queued'";
  return `dispatch = case when ${queued} then l.dispatch + 1 else l.dispatch end,
        job_id = case when ${queued} then null else l.job_id end,
        delivery = case when ${queued} then 0 else l.delivery end,
        run_at = case when ${queued} then ${runAt} else l.run_at end,
        look_at = case when ${queued} then ${runAt} + interval '${dispatchGraceSeconds} seconds' else l.look_at end`;
}
