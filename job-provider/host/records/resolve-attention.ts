import { instantText } from "../../../tasks/jobs/records/record-session.ts";
import type { JobSession } from "./job-session.ts";
import { moveJobs } from "./move-jobs.ts";
import { queueAgain } from "./queue-again.ts";
import type { Dispatch, JobReasonCode } from "./record-types.ts";

/** How a person decides. */
export type AttentionEnd =
  | { readonly state: "completed" /** The result as JSON text. */; readonly result: string }
  | { readonly state: "failed"; readonly code: JobReasonCode }
  | { readonly state: "cancelled" }
  | { readonly state: "queued" };

/** The job after the decision, and its next dispatch when it is queued again. */
export interface ResolvedJob {
  readonly revision: number;
  readonly dispatch: Dispatch | undefined;
}

/**
 * Ends a job's question to a person, if it still asks at that very revision. One that is queued again gets one more attempt when all are used
 * up. Undefined when it does not ask, or has moved on.
 */
export async function resolveAttentionIfAsked(
  session: JobSession,
  id: string,
  given: { readonly revision: number; readonly end: AttentionEnd },
): Promise<ResolvedJob | undefined> {
  const { end, revision } = given;
  const text = moveJobs(session, {
    which: "j.host_id = $1::text and j.id = $2::text::uuid",
    guard: "l.state = 'attention_required' and l.revision = $3::text::int",
    path: "array[$4::text]",
    codes: "array[$5::text]",
    set: `result = $6::text::json,
        unentered = 0,
        max_attempts = case when $4::text = 'queued' then greatest(l.max_attempts, l.attempts + 1) else l.max_attempts end,
        ${queueAgain(session.clock)}`,
    returning: `j.revision, j.dispatch, ${instantText("j.run_at")} as runat`,
  });
  const [row] = await session.query(text, [
    session.hostId,
    id,
    String(revision),
    end.state,
    end.state === "failed" ? end.code : null,
    end.state === "completed" ? end.result : null,
  ]);
  if (row === undefined) return undefined;
  const dispatch = { id, dispatch: row["dispatch"] as number, runAt: row["runat"] as string };
  return {
    revision: row["revision"] as number,
    dispatch: end.state === "queued" ? dispatch : undefined,
  };
}
