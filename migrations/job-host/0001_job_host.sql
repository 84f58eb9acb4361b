-- First release. No previous build runs on it. Oldest build: 1
-- What a job host records. The record is the truth; a Jobs job only carries its id to a worker.
-- Texts of callers may hold what a PostgreSQL text cannot, such as U+0000: where a column says "as JSON", it is the JSON string.

create table job (
  id uuid primary key,
  host_id text collate "C" not null,
  accepted_at timestamptz not null,
  run_at timestamptz not null,
  look_at timestamptz not null,
  lease_until timestamptz,
  finished_at timestamptz,
  progress_at timestamptz,
  revision integer not null check (revision > 0),
  dispatch integer not null check (dispatch > 0),
  delivery integer not null check (delivery >= 0),
  attempts integer not null check (attempts between 0 and max_attempts),
  max_attempts integer not null check (max_attempts > 0),
  artifact_sequence integer not null check (artifact_sequence >= 0),
  log_count integer not null check (log_count >= 0),
  unentered integer not null default 0 check (unentered >= 0),
  resumed_from integer,
  entered boolean not null,
  state text collate "C" not null
    check (state in ('queued', 'running', 'waiting', 'attention_required', 'completed', 'failed', 'cancelled')),
  recovery text collate "C" not null
    check (recovery in ('restart-from-input', 'checkpoint', 'reconcile-external-effect')),
  job_id text collate "C",
  settled_by text collate "C",
  code text collate "C" check (code ~ '^[A-Z][A-Z_]{0,63}$'),
  key_digest bytea not null check (octet_length(key_digest) = 32),
  request_digest text collate "C" not null check (request_digest ~ '^sha256:[0-9a-f]{64}$'),
  provider_id text collate "C" not null,
  provider_version text collate "C" not null,
  manifest_digest text collate "C" not null check (manifest_digest ~ '^sha256:[0-9a-f]{64}$'),
  configuration_digest text collate "C" not null check (configuration_digest ~ '^sha256:[0-9a-f]{64}$'),
  input json not null,
  configuration json not null,
  progress json,
  result json,
  constraint one_submission_key_one_job unique (host_id, key_digest),
  constraint running_is_leased check ((state = 'running') = (lease_until is not null)),
  constraint running_was_delivered check (state <> 'running' or (job_id is not null and delivery > 0 and attempts > 0)),
  constraint only_running_was_entered check (state = 'running' or not entered),
  constraint entering_begins_anew check (not entered or unentered = 0),
  constraint undispatched_was_not_delivered check (job_id is not null or delivery = 0),
  constraint finished_has_a_time check ((state in ('completed', 'failed', 'cancelled')) = (finished_at is not null)),
  constraint trouble_has_a_code check ((state in ('failed', 'attention_required')) = (code is not null)),
  constraint only_completed_has_a_result check ((state = 'completed') = (result is not null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index job_open on job (host_id, look_at) where state in ('queued', 'running', 'waiting');
create index job_page on job (host_id, id);
create index job_state_page on job (host_id, state, id);
create index job_provider_page on job (host_id, provider_id, id);
comment on table job is 'One record a job: what was accepted, and the fold of its events. look_at is when the sweep looks at an open one next; job_id is the Jobs job of this dispatch, null until it is known; delivery is its attempt; entered says whether the running attempt called the provider, unentered how many in a row ended without; resumed_from is the checkpoint that it went on from; settled_by is the fence of the last settlement, to know a repeated one by; key_digest is the SHA-256 of the submission key; provider_id and provider_version are as JSON.';

create table event (
  job uuid not null references job,
  revision integer not null check (revision > 0),
  at timestamptz not null,
  type text collate "C" not null check (type in ('job-accepted', 'job-lifecycle-changed')),
  state text collate "C" not null
    check (state in ('queued', 'running', 'waiting', 'attention_required', 'completed', 'failed', 'cancelled')),
  code text collate "C" check (code ~ '^[A-Z][A-Z_]{0,63}$'),
  primary key (job, revision),
  constraint only_the_first_accepts check ((type = 'job-accepted') = (revision = 1)),
  constraint accepted_is_queued check (type <> 'job-accepted' or state = 'queued')
);
comment on table event is 'What happened to each job, in order and without gaps. Append-only. code says why a job failed or asks for attention.';

create table artifact (
  job uuid not null references job,
  sequence integer not null check (sequence > 0),
  length bigint not null check (length >= 0),
  published_at timestamptz not null,
  discarded_at timestamptz,
  id text collate "C" not null,
  role text collate "C" not null,
  path text collate "C" not null,
  media_type text collate "C" not null,
  digest text collate "C" not null check (digest ~ '^sha256:[0-9a-f]{64}$'),
  attempt text collate "C" not null,
  primary key (job, sequence),
  constraint one_id_one_publication unique (job, id)
);
comment on table artifact is 'Publications in order. What counts is the latest of each role and path that was not discarded. role and path are as JSON; attempt is dispatch and delivery.';

create table checkpoint (
  job uuid not null references job,
  ordinal integer not null check (ordinal > 0),
  parent integer,
  artifact_sequence integer not null check (artifact_sequence >= 0),
  admitted_at timestamptz not null,
  discarded_at timestamptz,
  format_version integer not null check (format_version > 0),
  format text collate "C" not null,
  attempt text collate "C" not null,
  revision json not null,
  metadata json not null,
  primary key (job, ordinal),
  foreign key (job, parent) references checkpoint (job, ordinal),
  constraint parent_is_older check (parent < ordinal)
);
comment on table checkpoint is 'Sealed revisions to resume from; the newest has the highest ordinal that was not discarded. artifact_sequence is the last artifact published before it. format is as JSON; metadata is as it was given, before its schema.';

create table log (
  job uuid not null references job,
  ordinal integer not null check (ordinal > 0),
  at timestamptz not null,
  attempt text collate "C" not null,
  level text collate "C" not null check (level in ('debug', 'info', 'warn', 'error')),
  message text collate "C" not null,
  primary key (job, ordinal)
);
comment on table log is 'Lines of the attempts, capped per job; message is as JSON.';

create table command (
  job uuid not null references job,
  command_id text collate "C" not null,
  started_at timestamptz not null,
  lease_until timestamptz,
  finished_at timestamptz,
  expected_revision integer not null check (expected_revision > 0),
  runner uuid not null,
  state text collate "C" not null check (state in ('running', 'done', 'failed', 'unknown')),
  policy text collate "C" not null check (policy in ('replay-safe', 'reconcile-required', 'non-replayable')),
  code text collate "C" check (code ~ '^[A-Z][A-Z_]{0,63}$'),
  name text collate "C" not null,
  value_digest text collate "C" not null check (value_digest ~ '^sha256:[0-9a-f]{64}$'),
  value json not null,
  result json,
  primary key (job, command_id),
  constraint running_is_leased check ((state = 'running') = (lease_until is not null)),
  constraint ended_has_a_time check ((state = 'running') = (finished_at is null)),
  constraint failed_has_a_code check ((state = 'failed') = (code is not null)),
  constraint only_done_has_a_result check ((state = 'done') = (result is not null))
);
create index command_running on command (lease_until) where state = 'running';
comment on table command is 'One row a command of a job, for ever. runner is the process that runs it while lease_until lasts; unknown says that nobody will ever know. policy says what becomes of a dead runner; command_id and name are as JSON; a value digest is over the canonical JSON.';

create function refuse_change() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'events are append-only: % of %.% is refused', lower(tg_op), tg_table_schema, tg_table_name
    using errcode = 'restrict_violation';
end $$;
create trigger append_only before update or delete or truncate on event
  for each statement execute function refuse_change();

-- One notification a statement, whoever writes: the ids of the jobs that have new events, or an empty text when they are too many.
create function tell_events() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  channel constant text := 'lenso_job_host_' || left(encode(sha256(convert_to(tg_table_schema, 'UTF8')), 'hex'), 16);
  jobs text;
begin
  select case when count(*) > 200 then '' else string_agg(job::text, ' ') end into jobs
    from (select distinct job from added) as each;
  if jobs is not null then perform pg_notify(channel, jobs); end if;
  return null;
end $$;
create trigger told after insert on event
  referencing new table as added for each statement execute function tell_events();
