import type { JobSession } from "./job-session.ts";
import { moveJobs } from "./move-jobs.ts";

/** Most commands that one call gives up. */
const batch = 100;

/**
 * Gives up commands whose runner died and whose outcome nobody will ever know; one that is safe to replay waits to be asked again. The job of a
 * command that has to be reconciled asks for attention, in the same statement, unless it has ended or asks already.
 */
export async function abandonCommands(session: JobSession): Promise<void> {
  const { clock, table } = session;
  const text = moveJobs(session, {
    first: [
      `dead as materialized (
      select c.job, c.command_id from ${table("command")} c join ${table("job")} o on o.id = c.job
      where o.host_id = $1::text and c.state = 'running' and c.policy <> 'replay-safe' and c.lease_until <= ${clock}
      limit ${batch} for update of c skip locked
    )`,
      `abandoned as (
      update ${table("command")} c set state = 'unknown', lease_until = null, finished_at = ${clock} from dead
      where c.job = dead.job and c.command_id = dead.command_id returning c.job, c.policy
    )`,
    ],
    given: "(select distinct job from abandoned where policy = 'reconcile-required') given",
    which: "j.id = given.job",
    guard: "l.finished_at is null and l.state <> 'attention_required'",
    path: "'{attention_required}'",
    codes: "array['COMMAND_OUTCOME_UNKNOWN']",
    returning: "j.id",
  });
  await session.query(text, [session.hostId]);
}
