-- First release. No previous build runs on it. Oldest build: 1
-- A job is in exactly one of ready, lease and outcome. Queue and caller names are 63-bit hashes (see name).
-- The tables that jobs pass through have no CHECK constraints: PostgreSQL reads and compiles each of them anew in every statement, which
-- was a fifth of an enqueue and a quarter of a complete. The statements hold what the columns must.

create table name (
  hash bigint primary key,
  name text collate "C" not null
);
comment on table name is 'Names behind the hashes: first 8 bytes of SHA-256(name), big-endian, top bit cleared. Never deleted.';

create table instance (
  only_one boolean primary key default true check (only_one),
  instance_key text collate "C" not null,
  recorded_at timestamptz not null
);
comment on table instance is 'The one Jobs Instance that owns this schema, recorded before its first operation.';

create table jobs (
  id bigint generated always as identity (cache 1) primary key,
  producer bigint not null,
  queue bigint not null,
  requested_at timestamptz not null,
  created_at timestamptz not null,
  max_attempts smallint not null,
  nonce bytea not null,
  intent bytea not null,
  kind text collate "C" not null,
  idempotency_key text collate "C" not null,
  payload json not null
);
create unique index jobs_key on jobs (producer, idempotency_key);
comment on table jobs is 'What was asked for. Inserted once, never updated.';

create table ready (
  queue bigint not null,
  next_run timestamptz not null,
  id bigint not null,
  generation bigint not null default 0,
  updated_at timestamptz not null,
  settled_owner bigint,
  bytes integer not null,
  attempt smallint not null default 0,
  max_attempts smallint not null,
  settled_token bytea,
  last_code text collate "C",
  primary key (queue, next_run, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- A job that was never claimed is found by the run time it was created with; only one that came back needs a way by id.
create unique index ready_returned on ready (id) where generation > 0;
comment on table ready is 'Claimable and scheduled jobs. After a retryable fail it keeps who settled the attempt, so that the call can be repeated.';
comment on column ready.bytes is 'Size of the payload: one claim statement answers a bounded number of bytes.';

create table lease (
  id bigint primary key,
  generation bigint not null,
  queue bigint not null,
  owner bigint not null,
  expires_at timestamptz not null,
  next_run timestamptz not null,
  updated_at timestamptz not null,
  settled_owner bigint,
  bytes integer not null,
  attempt smallint not null,
  max_attempts smallint not null,
  token bytea not null,
  nonce bytea not null,
  settled_token bytea,
  last_code text collate "C"
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- Two sets that must not hide behind each other: those that another attempt may follow, and those that fail when they expire.
create index lease_expiry on lease (queue, expires_at) where attempt < max_attempts;
create index lease_last_expiry on lease (queue, expires_at) where attempt >= max_attempts;
comment on table lease is 'Running jobs. token is the SHA-256 of the lease token, which itself is stored nowhere. Who settled the attempt before is kept for a claim that is undone.';

create table outcome (
  id bigint primary key,
  next_run timestamptz not null,
  finished_at timestamptz not null,
  owner bigint,
  attempt smallint not null,
  state "char" not null,
  operation "char" not null,
  retryable boolean,
  token bytea,
  code text collate "C"
);
comment on table outcome is 'Finished jobs: state s succeeded or f failed, settled by operation c complete, f fail or r reaping. Inserted once.';

create table waiter (
  queue bigint not null,
  listener uuid not null,
  until timestamptz not null,
  primary key (queue, listener)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table waiter is 'Processes whose workers wait for a queue, each until a moment that it prolongs; past ones are ignored and deleted.';
