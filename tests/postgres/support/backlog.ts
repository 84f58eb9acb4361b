import type { SQL } from "bun";
import { nameHash } from "../../../plugin/store/name-hash.ts";

export interface Backlog {
  readonly queue: string;
  readonly jobs: number;
  /** SQL of the run time of job `n`. */
  readonly nextRun: string;
  /** Where the jobs are. Default `ready`. */
  readonly place?: "ready" | "lease" | "outcome";
  /** Begins the keys, so that two backlogs of one queue do not share them. */
  readonly prefix?: string;
}

/** Many jobs at once, straight into the tables. Statistics are as the caller left them. */
export async function givenBacklog(
  sql: SQL,
  { queue, jobs, nextRun, place = "ready", prefix = "bulk" }: Backlog,
): Promise<void> {
  const hash = nameHash(queue);
  const rows = {
    ready:
      "insert into jobs.ready (queue, next_run, id, updated_at, bytes, max_attempts) select queue, requested_at, id, created_at, 2, 3 from made",
    lease: `insert into jobs.lease (id, generation, queue, owner, expires_at, next_run, updated_at, attempt, max_attempts, token, nonce, bytes)
      select id, 1, queue, ${nameHash("worker")}, requested_at + interval '1 hour', requested_at, created_at, 1, 3, sha256(id::text::bytea), nonce, 2 from made`,
    outcome: `insert into jobs.outcome (id, next_run, finished_at, owner, attempt, state, operation, token)
      select id, requested_at, created_at, ${nameHash("worker")}, 1, 's', 'c', sha256(id::text::bytea) from made`,
  };
  await sql.unsafe(`
    with made as (
      insert into jobs.jobs (producer, queue, requested_at, created_at, max_attempts, nonce, intent, kind, idempotency_key, payload)
      select ${nameHash("producer")}, ${hash}, ${nextRun}, now(), 3, decode(lpad(to_hex(n), 20, '0'), 'hex'),
        sha256('intent'), 'bulk', '${prefix}-${place}-' || n, '{}'
      from generate_series(1, ${jobs}) n
      returning *
    ) ${rows[place]}`);
}
