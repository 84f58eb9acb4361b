import { type CommandRun, commandHeldBy, commandRunValues } from "./hold-command.ts";
import type { JobSession } from "./job-session.ts";
import type { CommandFailureCode } from "./read-command.ts";

/** How a command ended, as far as its runner knows. */
export type CommandEnd =
  | { readonly state: "done" /** As JSON text. */; readonly result: string }
  | { readonly state: "failed"; readonly code: CommandFailureCode };

/** Records how a command ended, while its runner's lease lasts. False when it is lost, or the end is recorded already. */
export async function endCommandIfHeld(
  session: JobSession,
  run: CommandRun,
  end: CommandEnd,
): Promise<boolean> {
  const { clock, table } = session;
  const text = `update ${table("command")} c set state = $4::text, result = $5::text::json, code = $6::text, lease_until = null,
      finished_at = ${clock}
    where ${commandHeldBy(clock)} returning true as ended`;
  const [row] = await session.query(text, [
    ...commandRunValues(run),
    end.state,
    end.state === "done" ? end.result : null,
    end.state === "failed" ? end.code : null,
  ]);
  return row !== undefined;
}
