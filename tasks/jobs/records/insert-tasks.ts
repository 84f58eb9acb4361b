import type { ProviderEnqueue } from "../../provider.ts";
import { homeValues, isAtHome, type RecordHome } from "./record-home.ts";
import { instantText, type RecordSession } from "./record-session.ts";
import { type Dispatch, dispatchGraceSeconds } from "./record-state.ts";

export interface NewTask extends Omit<ProviderEnqueue, "transaction"> {
  readonly id: string;
  /** SHA-256 over task and raw input, in hex. */
  readonly intent: string;
  /** True when somebody else enqueues it: the sweep may look at once, after the commit. */
  readonly leftToTheSweep: boolean;
}

/**
 * Records tasks with their first dispatch. Undefined where a deduplication key is taken: that task was not recorded then, and whoever
 * holds the key has committed (or is this very transaction). One that is being taken is waited for, and all of a statement wait with it.
 * With `home` nothing is recorded on another database.
 */
export async function insertTasks(
  session: RecordSession,
  tasks: readonly NewTask[],
  home?: RecordHome,
): Promise<readonly (Dispatch | undefined)[]> {
  const text = `
    with moment as materialized (select ${session.clock} as now),
    given as materialized (select * from json_to_recordset($2::text::json) as rows (id uuid, key text, intent text, task text,
      input text, run_at timestamptz, look_in float8, most int, retry_delay int, retry_backoff boolean, retry_max_delay int,
      traceparent text)${home === undefined ? "" : ` where ${isAtHome(session, "$3", "$4")}`}),
    keyed as (
      insert into ${session.table("deduplication_key")} (queue, key, task_id, intent, recorded_at)
      select $1::text, key, id, decode(intent, 'hex'), now from given, moment where key is not null
      on conflict (queue, key) do nothing
      returning task_id
    )
    insert into ${session.table("task")} (id, queue, task, input, recorded_at, run_at, look_at, dispatch, delivery, attempt,
      max_attempts, retry_delay, retry_backoff, retry_max_delay, cancel_requested, state, traceparent)
    select id, $1::text, task, input::json, now, coalesce(run_at, now), now + make_interval(secs => look_in), 1, 0, 0,
      most, retry_delay, retry_backoff, retry_max_delay, false, 'pending', traceparent
    from given, moment where key is null or id in (select task_id from keyed)
    returning id::text as id, ${instantText("run_at")} as runat`;
  const given = tasks.map(({ retry, ...task }) => ({
    id: task.id,
    key: task.deduplicationKey ?? null,
    intent: task.intent,
    task: task.task,
    input: JSON.stringify(task.input),
    run_at: task.runAt?.toISOString() ?? null,
    look_in: task.leftToTheSweep ? 0 : dispatchGraceSeconds,
    most: task.maxAttempts,
    retry_delay: retry?.delaySeconds ?? 0,
    retry_backoff: retry?.backoff ?? false,
    retry_max_delay: retry?.maxDelaySeconds ?? null,
    traceparent: task.traceparent ?? null,
  }));
  const rows = await session.query(text, [
    session.queue,
    JSON.stringify(given),
    ...(home === undefined ? [] : homeValues(home)),
  ]);
  const recorded = new Map(rows.map((row) => [row["id"] as string, row["runat"] as string]));
  return tasks.map(({ id }) => {
    const runAt = recorded.get(id);
    return runAt === undefined ? undefined : { id, dispatch: 1, runAt };
  });
}
