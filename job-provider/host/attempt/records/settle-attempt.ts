import type { JsonValue } from "../../../../capability/index.ts";
import { instantText } from "../../../../tasks/jobs/records/record-session.ts";
import type { JobLifecycleState } from "../../../lifecycle/job-lifecycle.ts";
import type { JobSession } from "../../records/job-session.ts";
import {
  attemptsLeftBy,
  discardLost,
  lostCodes,
  lostPath,
  neverEntered,
  unenteredAfter,
} from "../../records/lose-attempt.ts";
import { moveJobs } from "../../records/move-jobs.ts";
import { queueAgain } from "../../records/queue-again.ts";
import type { Dispatch, Fence, JobReasonCode } from "../../records/record-types.ts";
import { fenceText, fenceValues, heldBy } from "./fence-guard.ts";

/** How an attempt ended. */
export type AttemptEnd =
  | { readonly kind: "completed"; readonly result: JsonValue }
  | { readonly kind: "failed"; readonly code: JobReasonCode }
  | {
      readonly kind: "interrupted";
      /** Whether it went wrong, and so may count. One that was stopped in good order does not. */
      readonly spent: boolean;
      /** How long the next attempt waits, in seconds, if this one called its provider. */
      readonly delaySeconds: number;
    };

/** What a settlement left behind: when the state is queued, its next dispatch. */
export interface Settled extends Dispatch {
  readonly state: JobLifecycleState;
}

/**
 * Records how an attempt ended, once. An interrupted one goes on by the job's recovery rule; when it went wrong before it called its provider,
 * the next one waits 2 s, and twice as long each time in a row, at most 60 s. Undefined when the fence no longer holds and nothing changed.
 */
export async function settleAttempt(
  session: JobSession,
  fence: Fence,
  end: AttemptEnd,
): Promise<Settled | undefined> {
  const { clock } = session;
  const queued = "l.path[cardinality(l.path)] = 'queued'";
  const wentWrong = end.kind === "interrupted" && end.spent;
  const text = moveJobs(session, {
    which: "j.host_id = $1::text and j.id = $2::text::uuid",
    guard: heldBy(clock),
    ...wayOf(end),
    set: `settled_by = $6::text,
        result = $7::text::json,
        attempts = ${wentWrong ? attemptsLeftBy : "l.attempts"} - case when ${queued} then $8::text::int else 0 end,
        unentered = ${wentWrong ? unenteredAfter : "l.unentered"},
        ${queueAgain(`${clock} + make_interval(secs => ${wentWrong ? delayAfterLoss : delayGiven})`)}`,
    ...(end.kind === "interrupted" ? { also: [discardLost(session)] } : {}),
    returning: `j.id::text as id, j.state, j.dispatch, ${instantText("j.run_at")} as runat`,
  });
  const [row] = await session.query(text, [
    ...fenceValues(session, fence),
    fenceText(fence),
    end.kind === "completed" ? JSON.stringify(end.result) : null,
    end.kind === "interrupted" && !end.spent ? "1" : "0",
    String(end.kind === "interrupted" ? end.delaySeconds : 0),
  ]);
  return row === undefined ? undefined : settledFrom(row);
}

const delayGiven = "$9::text::float8";
const delayAfterLoss = `case when ${neverEntered} then least(60, 2 ^ (1 + least(l.unentered, 5))) else ${delayGiven} end`;

/** What this very fence settled earlier, when its answer was lost; undefined when it settled nothing. */
export async function findSettlement(session: JobSession, fence: Fence): Promise<Settled | undefined> {
  const text = `
    select id::text as id, state, dispatch, ${instantText("run_at")} as runat from ${session.table("job")}
    where host_id = $1::text and id = $2::text::uuid and settled_by = $3::text`;
  const [row] = await session.query(text, [session.hostId, fence.id, fenceText(fence)]);
  return row === undefined ? undefined : settledFrom(row);
}

function wayOf(end: AttemptEnd): { readonly path: string; readonly codes?: string } {
  switch (end.kind) {
    case "completed":
      return { path: "'{completed}'" };
    case "failed":
      return { path: "'{failed}'", codes: `array['${end.code}']` };
    case "interrupted": {
      if (!end.spent) {
        const rule = { spent: "false", code: null };
        return { path: lostPath("queued", rule), codes: lostCodes(rule) };
      }
      return { path: lostPath("queued"), codes: lostCodes() };
    }
  }
}

function settledFrom(row: Readonly<Record<string, unknown>>): Settled {
  return {
    id: row["id"] as string,
    state: row["state"] as JobLifecycleState,
    dispatch: row["dispatch"] as number,
    runAt: row["runat"] as string,
  };
}
