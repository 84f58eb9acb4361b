import { type CommandRun, commandHeldBy, commandRunValues } from "./hold-command.ts";
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
  const text = abandoning(session, {
    which: `from ${table("command")} c join ${table("job")} o on o.id = c.job
      where o.host_id = $1::text and c.state = 'running' and c.policy <> 'replay-safe' and c.lease_until <= ${clock}
      limit ${batch} for update of c skip locked`,
  });
  await session.query(text, [session.hostId]);
}

/**
 * Gives up a command that its own runner has broken off, so that nobody knows how it ended. One that is safe to replay may be run again at
 * once; of the others becomes what {@link abandonCommands} says, now. Nothing happens when the runner no longer holds it.
 */
export async function abandonCommandIfHeld(session: JobSession, run: CommandRun): Promise<void> {
  const text = abandoning(session, {
    which: `from ${session.table("command")} c where ${commandHeldBy(session.clock)} for update of c`,
  });
  await session.query(text, commandRunValues(run));
}

function abandoning(session: JobSession, { which }: { readonly which: string }): string {
  const { clock, table } = session;
  return moveJobs(session, {
    first: [
      `given_up as materialized (
      select c.job, c.command_id, c.policy = 'replay-safe' as again ${which}
    )`,
      `abandoned as (
      update ${table("command")} c set state = case when g.again then c.state else 'unknown' end,
        lease_until = case when g.again then ${clock} end, finished_at = case when g.again then null else ${clock} end
      from given_up g where c.job = g.job and c.command_id = g.command_id returning c.job, c.policy
    )`,
    ],
    given: "(select distinct job from abandoned where policy = 'reconcile-required') given",
    which: "j.id = given.job",
    guard: "l.finished_at is null and l.state <> 'attention_required'",
    path: "'{attention_required}'",
    codes: "array['COMMAND_OUTCOME_UNKNOWN']",
    returning: "j.id",
  });
}
