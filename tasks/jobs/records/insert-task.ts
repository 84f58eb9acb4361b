import type { ProviderEnqueue } from "../../provider.ts";
import { instantText, type RecordSession } from "./record-session.ts";
import type { Dispatch } from "./record-state.ts";
import { dispatchGraceSeconds } from "./record-state.ts";

export interface NewTask extends Omit<ProviderEnqueue, "transaction"> {
  readonly id: string;
  /** SHA-256 over task and raw input, in hex. */
  readonly intent: string;
  /** True when somebody else enqueues it: the sweep may look at once, after the commit. */
  readonly leftToTheSweep: boolean;
}

/**
 * Records a task with its first dispatch. Undefined when its deduplication key is taken: nothing was recorded then, and whoever
 * holds the key has committed (or is this very transaction).
 */
export async function insertTask(session: RecordSession, task: NewTask): Promise<Dispatch | undefined> {
  const { clock } = session;
  const text = `
    with moment as materialized (select ${clock} as now),
    keyed as (
      insert into ${session.table("deduplication_key")} (queue, key, task_id, intent, recorded_at)
      select $1::text, $3::text, $2::text::uuid, decode($4::text, 'hex'), now from moment where $3::text is not null
      on conflict (queue, key) do nothing
      returning task_id
    )
    insert into ${session.table("task")} (id, queue, task, input, recorded_at, run_at, look_at, dispatch, delivery, attempt,
      max_attempts, retry_delay, retry_backoff, retry_max_delay, cancel_requested, state, traceparent)
    select $2::text::uuid, $1::text, $5::text, $6::text::json, now, coalesce($7::text::timestamptz, now),
      now + make_interval(secs => $8::text::float8), 1, 0, 0, $9::text::int, $10::text::int, $11::text::boolean,
      $12::text::int, false, 'pending', $13::text
    from moment where $3::text is null or exists (select from keyed)
    returning ${instantText("run_at")} as runat`;
  const { retry } = task;
  const [row] = await session.query(text, [
    session.queue,
    task.id,
    task.deduplicationKey ?? null,
    task.intent,
    task.task,
    JSON.stringify(task.input),
    task.runAt?.toISOString() ?? null,
    String(task.leftToTheSweep ? 0 : dispatchGraceSeconds),
    String(task.maxAttempts),
    String(retry?.delaySeconds ?? 0),
    String(retry?.backoff ?? false),
    retry?.maxDelaySeconds === undefined ? null : String(retry.maxDelaySeconds),
    task.traceparent ?? null,
  ]);
  return row === undefined ? undefined : { id: task.id, dispatch: 1, runAt: row["runat"] as string };
}
