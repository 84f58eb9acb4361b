-- Waking workers of other processes. The previous build runs on it and sends no wake-ups. Oldest build: 1

create table waiter (
  queue bigint not null,
  listener uuid not null,
  until timestamptz not null,
  primary key (queue, listener)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table waiter is 'Processes whose workers wait for a queue, each until a moment that it prolongs; past ones are ignored and deleted.';
