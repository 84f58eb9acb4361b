import { instantText } from "../../../tasks/jobs/records/record-session.ts";
import type { JobSnapshot } from "../../lifecycle/job-snapshot.ts";
import type { JobSession, LockingJobSession } from "./job-session.ts";
import { dispatchGraceSeconds } from "./queue-again.ts";
import { asJson, type Dispatch, type RecoveryMode } from "./record-types.ts";
import { submissionLock } from "./submission-lock.ts";

/** A job that has been admitted. */
export interface NewJob extends Pick<JobSnapshot, "provider" | "input" | "configuration"> {
  readonly id: string;
  /** SHA-256 of the submission key, in hex. */
  readonly keyDigest: string;
  readonly requestDigest: string;
  readonly recovery: RecoveryMode;
  readonly maxAttempts: number;
}

/**
 * Accepts a job: the record, its first event and its first dispatch. Undefined when the submission key is taken, by a job that is committed;
 * or when the signal has aborted before the key's lock was ours: whoever gives up before that has not submitted anything.
 */
export async function insertJob(
  session: LockingJobSession,
  job: NewJob,
  signal?: AbortSignal,
): Promise<Dispatch | undefined> {
  const lock = submissionLock(session.hostId, job.keyDigest);
  const [row] = await session.alone(lock, async (locked) =>
    signal?.aborted === true ? [] : locked.query(insertText(session), insertValues(session, job)),
  );
  return row === undefined ? undefined : { id: job.id, dispatch: 1, runAt: row["runat"] as string };
}

/** The lock comes before, in a statement of its own: this one waits for its tables before any part of it is run. */
function insertText({ clock, table }: JobSession): string {
  return `
    with moment as materialized (select ${clock} as now),
    accepted as (
      insert into ${table("job")} (id, host_id, key_digest, request_digest, provider_id, provider_version, manifest_digest, recovery,
        max_attempts, input, configuration, configuration_digest, accepted_at, run_at, look_at, revision, dispatch, delivery, attempts,
        artifact_sequence, log_count, entered, state)
      select $2::text::uuid, $1::text, decode($3::text, 'hex'), $4::text, $5::text, $6::text, $7::text, $8::text, $9::text::int,
        $10::text::json, $11::text::json, $12::text, now, now, now + interval '${dispatchGraceSeconds} seconds', 1, 1, 0, 0,
        0, 0, false, 'queued'
      from moment
      on conflict (host_id, key_digest) do nothing
      returning id, run_at, accepted_at, state
    ),
    told as (
      insert into ${table("event")} (job, revision, at, type, state)
      select id, 1, accepted_at, 'job-accepted', state from accepted
    )
    select id::text as id, ${instantText("run_at")} as runat from accepted`;
}

function insertValues({ hostId }: JobSession, job: NewJob): string[] {
  return [
    hostId,
    job.id,
    job.keyDigest,
    job.requestDigest,
    asJson(job.provider.id),
    asJson(job.provider.version),
    job.provider.manifestDigest,
    job.recovery,
    String(job.maxAttempts),
    JSON.stringify(job.input),
    JSON.stringify(job.configuration.value),
    job.configuration.digest,
  ];
}
