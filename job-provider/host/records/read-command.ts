import type { JsonValue } from "../../../capability/index.ts";
import { ownJson } from "../../canonical/own-json.ts";
import type { JobSession } from "./job-session.ts";
import { asJson, fromJson } from "./record-types.ts";

/** Why a command failed for good. */
export type CommandFailureCode = "PROVIDER_EXECUTION_FAILED" | "RESULT_INVALID";

/** A command as it is recorded. */
export interface StoredCommand {
  readonly name: string;
  readonly valueDigest: string;
  readonly runner: string;
  readonly end:
    | {
        readonly state: "running";
        /** Its lease is over: the runner is dead. */
        readonly isDead: boolean;
        /** It may be run again then. */
        readonly isReplaySafe: boolean;
      }
    | { readonly state: "done"; readonly value: JsonValue }
    | { readonly state: "failed"; readonly code: CommandFailureCode }
    | { readonly state: "unknown" };
}

/** The record of a command; undefined when the id is free. */
export async function readCommand(
  session: JobSession,
  job: string,
  commandId: string,
): Promise<StoredCommand | undefined> {
  const { clock, table, hostId } = session;
  const text = `select c.name, c.value_digest as digest, c.runner::text as runner, c.state, c.code, c.result::text as result,
      c.lease_until <= ${clock} as dead, c.policy = 'replay-safe' as again
    from ${table("command")} c join ${table("job")} j on j.id = c.job
    where j.host_id = $1::text and c.job = $2::text::uuid and c.command_id = $3::text`;
  const [row] = await session.query(text, [hostId, job, asJson(commandId)]);
  if (row === undefined) return undefined;
  return {
    name: fromJson(row["name"]),
    valueDigest: row["digest"] as string,
    runner: row["runner"] as string,
    end: endOf(row),
  };
}

function endOf(row: Readonly<Record<string, unknown>>): StoredCommand["end"] {
  const state = row["state"] as StoredCommand["end"]["state"];
  if (state === "running")
    return { state, isDead: row["dead"] === true, isReplaySafe: row["again"] === true };
  if (state === "done") return { state, value: ownJson(JSON.parse(row["result"] as string)) };
  if (state === "failed") return { state, code: row["code"] as CommandFailureCode };
  return { state };
}
