import type { JsonValue } from "../../../capability/index.ts";
import type { JobState } from "../../provider.ts";
import type { RecordSession } from "./record-session.ts";
import { type Fence, openStates } from "./record-state.ts";

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
 * Begins an attempt for a delivery of the record's own dispatch that raises the delivery number. The holder before it, if any, has
 * lost its Jobs lease and is fenced out from here on; a record whose cancellation was asked for ends here, and so does one whose
 * attempts are spent. Undefined when the delivery does not match: another dispatch or job, not a later one, or nothing open.
 *
 * Not to be repeated after a lost answer: the second try would find its own delivery and call it a stale one.
 */
export async function startAttempt(
  session: RecordSession,
  fence: Fence,
  lease: { readonly seconds: number /** Since the claim was sent. */; readonly elapsedMs: number },
): Promise<StartedAttempt | undefined> {
  const until = `${session.clock} - make_interval(secs => $6::text::float8) + make_interval(secs => $7::text::float8)`;
  const runs = "not cancel_requested and attempt < max_attempts";
  const text = `
    update ${session.table("task")} set
      job_id = $4::text,
      delivery = $5::text::int,
      state = case when cancel_requested then 'cancelled' when attempt >= max_attempts then 'failed' else 'running' end,
      error = case when cancel_requested then null when attempt >= max_attempts or state = 'running' then 'aborted' else error end,
      attempt = case when ${runs} then attempt + 1 else attempt end,
      lease_until = case when ${runs} then ${until} end,
      finished_at = case when ${runs} then null else ${session.clock} end,
      look_at = ${until} + make_interval(secs => $7::text::float8)
    where queue = $1::text and id = $2::text::uuid and dispatch = $3::text::int
      and (job_id is null or job_id = $4::text) and delivery < $5::text::int and state in ${openStates}
    returning state, task, input::text as input, attempt, max_attempts as most, traceparent`;
  const [row] = await session.query(text, [
    session.queue,
    fence.id,
    String(fence.dispatch),
    fence.jobId,
    String(fence.delivery),
    String(lease.elapsedMs / 1000),
    String(lease.seconds),
  ]);
  if (row === undefined) return undefined;
  return {
    state: row["state"] as JobState,
    task: row["task"] as string,
    input: JSON.parse(row["input"] as string) as JsonValue,
    attempt: row["attempt"] as number,
    maxAttempts: row["most"] as number,
    traceparent: row["traceparent"] as string | null,
  };
}
