-- First release. No previous build runs on it. Oldest build: 1
-- What the task provider on lenso.jobs@1 records. The record is the truth; a Jobs job only carries its id to a worker.

create table queue (
  name text collate "C" primary key,
  id uuid not null unique default gen_random_uuid(),
  created_at timestamptz not null default clock_timestamp()
);
comment on table queue is 'The identity of each queue, drawn once. Never deleted.';

create table task (
  id uuid primary key,
  recorded_at timestamptz not null,
  run_at timestamptz not null,
  look_at timestamptz not null,
  lease_until timestamptz,
  finished_at timestamptz,
  dispatch integer not null check (dispatch > 0),
  delivery integer not null check (delivery >= 0),
  attempt integer not null check (attempt between 0 and max_attempts),
  max_attempts integer not null check (max_attempts > 0),
  retry_delay integer not null check (retry_delay between 0 and 604800),
  retry_max_delay integer check (retry_max_delay between 1 and 604800),
  retry_backoff boolean not null,
  cancel_requested boolean not null,
  state text collate "C" not null check (state in ('pending', 'running', 'succeeded', 'failed', 'cancelled')),
  queue text collate "C" not null,
  task text collate "C" not null,
  job_id text collate "C",
  settled_by text collate "C",
  error text collate "C" check (error in ('handler-failed', 'invalid-input', 'invalid-result', 'aborted')),
  traceparent text collate "C",
  input json not null,
  result json,
  constraint running_is_leased check ((state = 'running') = (lease_until is not null)),
  constraint running_was_delivered check (state <> 'running' or (job_id is not null and delivery > 0 and attempt > 0)),
  constraint undispatched_was_not_delivered check (job_id is not null or delivery = 0),
  constraint finished_has_a_time check ((state in ('succeeded', 'failed', 'cancelled')) = (finished_at is not null)),
  constraint pending_is_wanted check (state <> 'pending' or (not cancel_requested and attempt < max_attempts)),
  constraint failed_has_a_reason check (state <> 'failed' or error is not null),
  constraint success_has_no_error check (state not in ('succeeded', 'cancelled') or error is null),
  constraint only_success_has_a_result check (state = 'succeeded' or result is null)
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create index task_open on task (queue, look_at) where state in ('pending', 'running');
create index task_finished on task (queue, finished_at) where finished_at is not null;
create index task_page on task (queue, task, id);
comment on table task is 'One record a task. look_at is when the sweep looks at an open one next; job_id is the Jobs job of this dispatch, null until it is known; settled_by is the fence of the last settlement.';

create table deduplication_key (
  queue text collate "C" not null,
  key text collate "C" not null check (octet_length(key) between 1 and 256),
  task_id uuid not null,
  intent bytea not null check (octet_length(intent) = 32),
  recorded_at timestamptz not null,
  primary key (queue, key)
);
comment on table deduplication_key is 'One row a key, for ever: once its task is pruned, the row says that the key was used. intent is a SHA-256 over task and raw input.';
