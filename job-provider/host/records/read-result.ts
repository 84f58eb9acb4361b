import type { JsonValue } from "../../../capability/index.ts";
import { ownJson } from "../../canonical/own-json.ts";
import type { JobLifecycleState } from "../../lifecycle/job-lifecycle.ts";
import type { JobSession } from "./job-session.ts";
import type { JobReasonCode } from "./record-types.ts";

/** How a job ended, or where it stands. Frozen. */
export type JobResult =
  | { readonly state: "completed"; readonly value: JsonValue }
  | { readonly state: "failed" | "attention_required"; readonly code: JobReasonCode }
  | { readonly state: Exclude<JobLifecycleState, "completed" | "failed" | "attention_required"> };

/** The result of a job; undefined when there is no such job. */
export async function readResult(session: JobSession, id: string): Promise<JobResult | undefined> {
  const text = `select state, code, result::text as result from ${session.table("job")}
    where host_id = $1::text and id = $2::text::uuid`;
  const [row] = await session.query(text, [session.hostId, id]);
  if (row === undefined) return undefined;
  const state = row["state"] as JobLifecycleState;
  if (state === "completed")
    return Object.freeze({ state, value: ownJson(JSON.parse(row["result"] as string)) });
  if (state === "failed" || state === "attention_required")
    return Object.freeze({ state, code: row["code"] as JobReasonCode });
  return Object.freeze({ state });
}
