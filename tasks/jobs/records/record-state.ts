/**
 * The states of a record. Every arrow is one statement of this folder, named beside it, and names in its WHERE the states it
 * starts from.
 *
 * ```text
 *                        ┌──────────── retry-task: dispatch + 1, one more attempt ────────────┐
 *                        ▼                                                                    │
 *  insert-tasks ─► PENDING ──── start-attempts ───► RUNNING ──── settle-attempts ─► SUCCEEDED │
 *                    │  ▲  attempt + 1, lease_until    │ │ │                                  │
 *                    │  │                              │ │ └─ settle-attempts ─────► FAILED ──┘
 *                    │  ├─ settle-attempts ────────────┤ │    final, or attempts spent   ▲
 *                    │  │  retryable: dispatch + 1     │ └─ start-attempts, next-dispatch ┘
 *                    │  ├─ return-attempt ─────────────┤    the holder is dead, attempts spent: `aborted`
 *                    │  │  attempt − 1, dispatch + 1   │
 *                    │  ├─ next-dispatch ──────────────┤ start-attempts of a later delivery: RUNNING again, attempt + 1
 *                    │  │  its Jobs job is lost        │ hold-attempt: RUNNING, lease_until moves on
 *                    │  └─ next-dispatch (PENDING too) │ request-cancel: RUNNING, the flag is set
 *                    │                                 │
 *                    └─ request-cancel ─► CANCELLED ◄──┘ whatever takes a flagged record out of RUNNING: settle-attempts,
 *                                                        return-attempt, start-attempts of a later delivery, next-dispatch
 * ```
 *
 * SUCCEEDED and CANCELLED are never left, FAILED only by a manual retry; prune-tasks deletes the three of them. What leaves RUNNING
 * or moves `dispatch` voids every fence that was handed out before.
 */
export const openStates = "('pending', 'running')";

/** The Jobs job that carries a record, and its delivery: what a worker must hold to write. */
export interface Fence {
  readonly id: string;
  readonly dispatch: number;
  readonly jobId: string;
  /** The attempt number of the Jobs job. */
  readonly delivery: number;
}

/** A dispatch that is recorded and may not have been enqueued. */
export interface Dispatch {
  readonly id: string;
  readonly dispatch: number;
  /** RFC 3339 with microseconds, fixed when it was recorded: the same text at every try. */
  readonly runAt: string;
}

/** How the fence is kept with a settlement, to know a repeated one by. */
export function fenceText({ dispatch, jobId, delivery }: Fence): string {
  return `${dispatch}/${jobId}/${delivery}`;
}

/** The guard of every write of a holder, from $2: id, dispatch, job id and delivery of the fence, and a lease that is not over. */
export function heldBy(clock: string): string {
  return `queue = $1::text and id = $2::text::uuid and dispatch = $3::text::int and job_id = $4::text
    and delivery = $5::text::int and state = 'running' and lease_until > ${clock}`;
}

/** The same for a statement that joins its fences as `given`. */
export function heldByGiven(clock: string): string {
  return `queue = $1::text and id = given_id and dispatch = given_dispatch and job_id = given_job
    and delivery = given_delivery and state = 'running' and lease_until > ${clock}`;
}

/** How long ago that was, by the clock of `performance.now()`. */
export function secondsSince(sentAt: number): number {
  return (performance.now() - sentAt) / 1000;
}

/** The first five parameters of such a write. */
export function fenceValues(queue: string, fence: Fence): string[] {
  return [queue, fence.id, String(fence.dispatch), fence.jobId, String(fence.delivery)];
}

/** How soon the sweep looks at a dispatch that somebody has just recorded and is about to enqueue, in seconds. */
export const dispatchGraceSeconds = 2;

/** The part of a SET list that opens the next dispatch when the condition holds; the run time is set by the statement. */
export function nextDispatchIf(condition: string, clock: string): string {
  return `dispatch = case when ${condition} then dispatch + 1 else dispatch end,
    job_id = case when ${condition} then null else job_id end,
    delivery = case when ${condition} then 0 else delivery end,
    look_at = case when ${condition} then ${clock} + interval '${dispatchGraceSeconds} seconds' else look_at end`;
}
