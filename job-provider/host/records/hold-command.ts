import { commandLeaseSeconds } from "./begin-command.ts";
import type { JobSession } from "./job-session.ts";
import { asJson } from "./record-types.ts";

/** A run of a command: its job, its id, and who runs it. */
export interface CommandRun {
  readonly job: string;
  readonly commandId: string;
  readonly runner: string;
}

/** The guard of every write of a runner: it still is the runner, and its lease is not over. */
export function commandHeldBy(clock: string): string {
  return `c.job = $1::text::uuid and c.command_id = $2::text and c.runner = $3::text::uuid and c.state = 'running'
      and c.lease_until > ${clock}`;
}

/** The first three parameters of such a write. */
export function commandRunValues({ job, commandId, runner }: CommandRun): string[] {
  return [job, asJson(commandId), runner];
}

/** Prolongs the lease of a runner; false when it is lost. `elapsedMs` is the time since the call was sent, or more. */
export async function holdCommand(session: JobSession, run: CommandRun): Promise<boolean> {
  const { clock, table } = session;
  const text = `update ${table("command")} c set lease_until = ${clock} + interval '${commandLeaseSeconds} seconds'
    where ${commandHeldBy(clock)} returning true as held`;
  const [row] = await session.query(text, commandRunValues(run));
  return row !== undefined;
}

/** Takes over a command whose runner is dead; false when somebody else did, or it has ended. */
export async function takeCommand(session: JobSession, run: CommandRun): Promise<boolean> {
  const { clock, table } = session;
  const text = `update ${table("command")} c set runner = $3::text::uuid,
      lease_until = ${clock} + interval '${commandLeaseSeconds} seconds'
    where c.job = $1::text::uuid and c.command_id = $2::text and c.state = 'running' and c.policy = 'replay-safe'
      and c.lease_until <= ${clock} returning true as taken`;
  const [row] = await session.query(text, commandRunValues(run));
  return row !== undefined;
}
