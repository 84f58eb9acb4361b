import type { JobLifecycleState } from "../../lifecycle/job-lifecycle.ts";
import type { JobCommandReplayPolicy } from "../../provider/define-job-command.ts";
import type { JobSession } from "./job-session.ts";
import { asJson } from "./record-types.ts";

/** How long a command's runner may be silent before it counts as dead, in seconds. */
export const commandLeaseSeconds = 30;

/** A command that is to be run, and the process that wants to run it. */
export interface NewCommand {
  /** The job's id. */
  readonly job: string;
  readonly commandId: string;
  readonly name: string;
  readonly policy: JobCommandReplayPolicy;
  readonly expectedRevision: number;
  /** Canonical JSON, and its digest. */
  readonly value: string;
  readonly valueDigest: string;
  /** A UUID drawn for this run. */
  readonly runner: string;
}

/** Where the job stood, and whether the command's record was made, and so is ours to run. */
export interface BegunCommand {
  readonly begun: boolean;
  readonly state: JobLifecycleState;
  readonly revision: number;
}

/**
 * Makes the record of a command, if the job is open at the expected revision and the command id is free. Undefined when there is no such job.
 * The job's row is locked meanwhile, so that it does not move between the look and the record.
 */
export async function beginCommand(
  session: JobSession,
  command: NewCommand,
): Promise<BegunCommand | undefined> {
  const { clock, table, hostId } = session;
  const text = `
    with locked as materialized (
      select j.id, j.state, j.revision, j.finished_at from ${table("job")} j
      where j.host_id = $1::text and j.id = $2::text::uuid for share
    ),
    begun as (
      insert into ${table("command")} (job, command_id, name, policy, expected_revision, value, value_digest, runner, started_at,
        lease_until, state)
      select l.id, $3::text, $4::text, $5::text, l.revision, $7::text::json, $8::text, $9::text::uuid, ${clock},
        ${clock} + interval '${commandLeaseSeconds} seconds', 'running'
      from locked l where l.finished_at is null and l.revision = $6::text::int
      on conflict (job, command_id) do nothing
      returning true as yes
    )
    select l.state, l.revision, exists (select from begun) as begun from locked l`;
  const [row] = await session.query(text, [
    hostId,
    command.job,
    asJson(command.commandId),
    asJson(command.name),
    command.policy,
    String(command.expectedRevision),
    command.value,
    command.valueDigest,
    command.runner,
  ]);
  if (row === undefined) return undefined;
  return {
    begun: row["begun"] as boolean,
    state: row["state"] as JobLifecycleState,
    revision: row["revision"] as number,
  };
}
