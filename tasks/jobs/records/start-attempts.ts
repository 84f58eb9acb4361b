import type { JsonValue } from "../../../capability/index.ts";
import type { JobState } from "../../provider.ts";
import type { RecordSession } from "./record-session.ts";
import { type Fence, openStates, secondsSince } from "./record-state.ts";

/** A delivery that wants to begin an attempt. */
export interface Delivery {
  readonly fence: Fence;
  /** `performance.now()` from before the claim was sent: the lease is reckoned from there. */
  readonly sentAt: number;
  readonly leaseSeconds: number;
}

/** What a delivery found. Any state but `running` means that there is nothing to run. */
export interface StartedAttempt {
  readonly state: JobState;
  readonly task: string;
  readonly input: JsonValue;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly traceparent: string | null;
}

/**
 * Begins an attempt for each delivery of a record's own dispatch that raises the delivery number; a record may be named once. The holder
 * before it, if any, has lost its Jobs lease and is fenced out from here on; a record whose cancellation was asked for ends here, and so
 * does one whose attempts are spent. Undefined where the delivery does not match: another dispatch or job, not a later one, or nothing
 * open.
 *
 * Not to be repeated after a lost answer: the second try would find its own delivery and call it a stale one.
 */
export async function startAttempts(
  session: RecordSession,
  deliveries: readonly Delivery[],
): Promise<readonly (StartedAttempt | undefined)[]> {
  const until = `${session.clock} - make_interval(secs => given_elapsed) + make_interval(secs => given_lease)`;
  const runs = "not cancel_requested and attempt < max_attempts";
  const text = `
    update ${session.table("task")} set
      job_id = given_job,
      delivery = given_delivery,
      state = case when cancel_requested then 'cancelled' when attempt >= max_attempts then 'failed' else 'running' end,
      error = case when cancel_requested then null when attempt >= max_attempts or state = 'running' then 'aborted' else error end,
      attempt = case when ${runs} then attempt + 1 else attempt end,
      lease_until = case when ${runs} then ${until} end,
      finished_at = case when ${runs} then null else ${session.clock} end,
      look_at = ${until} + make_interval(secs => given_lease)
    from json_to_recordset($2::text::json) as given (given_n int, given_id uuid, given_dispatch int, given_job text,
      given_delivery int, given_elapsed float8, given_lease float8)
    where queue = $1::text and id = given_id and dispatch = given_dispatch
      and (job_id is null or job_id = given_job) and delivery < given_delivery and state in ${openStates}
    returning given_n as n, state, task, input::text as input, attempt, max_attempts as most, traceparent`;
  const given = deliveries.map(({ fence, sentAt, leaseSeconds }, index) => ({
    given_n: index,
    given_id: fence.id,
    given_dispatch: fence.dispatch,
    given_job: fence.jobId,
    given_delivery: fence.delivery,
    given_elapsed: secondsSince(sentAt),
    given_lease: leaseSeconds,
  }));
  const rows = await session.query(text, [session.queue, JSON.stringify(given)]);
  const started = new Map(
    rows.map((row) => [
      row["n"],
      {
        state: row["state"] as JobState,
        task: row["task"] as string,
        input: JSON.parse(row["input"] as string) as JsonValue,
        attempt: row["attempt"] as number,
        maxAttempts: row["most"] as number,
        traceparent: row["traceparent"] as string | null,
      },
    ]),
  );
  return deliveries.map((_, index) => started.get(index));
}
