import type { JsonValue } from "../../../../capability/index.ts";
import { secondsSince } from "../../../../tasks/jobs/records/record-state.ts";
import { ownJson } from "../../../canonical/own-json.ts";
import type { JobLifecycleState } from "../../../lifecycle/job-lifecycle.ts";
import type { JobInput } from "../../../submission/job-submit-input.ts";
import type { JobSession } from "../../records/job-session.ts";
import {
  attemptsLeftBy,
  discardLost,
  lostCodes,
  lostPath,
  unenteredAfter,
} from "../../records/lose-attempt.ts";
import { moveJobs } from "../../records/move-jobs.ts";
import { type Fence, openStates } from "../../records/record-types.ts";
import { fenceValues } from "./fence-guard.ts";

/** What a delivery found. Any state but `running` means that there is nothing to run. */
export interface StartedAttempt {
  readonly state: JobLifecycleState;
  /** Counted from 1; a lost attempt counts, one that was given back or never called its provider does not. */
  readonly attempt: number;
  /** Deeply frozen, as the configuration. */
  readonly input: JobInput;
  readonly configuration: JsonValue;
}

/**
 * Begins an attempt under a fence that has just been raised. When an attempt was running, it is lost: the job goes on by its recovery rule, and
 * a job that may not go on asks for attention or has failed. What the lost attempt published is discarded as far as no checkpoint covers it.
 * Undefined when another delivery raised the fence meanwhile, or the job is no longer open.
 *
 * Not to be repeated after a lost answer: the second try would take the first one's attempt for a lost one.
 *
 * @param sentAt `performance.now()` from before the claim was sent: the lease is reckoned from there
 */
export async function startAttempt(
  session: JobSession,
  fence: Fence,
  lease: { readonly sentAt: number; readonly seconds: number },
): Promise<StartedAttempt | undefined> {
  const until = `${session.clock} - make_interval(secs => $6::text::float8) + make_interval(secs => $7::text::float8)`;
  const runs = "l.path[cardinality(l.path)] = 'running'";
  const text = moveJobs(session, {
    which: "j.host_id = $1::text and j.id = $2::text::uuid",
    guard: `l.dispatch = $3::text::int and l.job_id = $4::text and l.delivery = $5::text::int and l.state in ${openStates}`,
    path: lostPath("running"),
    codes: lostCodes(),
    leaseUntil: until,
    set: `attempts = ${attemptsLeftBy} + case when ${runs} then 1 else 0 end,
        unentered = ${unenteredAfter},
        resumed_from = null,
        look_at = ${until} + make_interval(secs => $7::text::float8)`,
    also: [discardLost(session)],
    returning: `j.state, j.attempts, j.input::text as input,
        j.configuration::text as configuration`,
  });
  const values = [...fenceValues(session, fence), String(secondsSince(lease.sentAt)), String(lease.seconds)];
  const [row] = await session.query(text, values);
  if (row === undefined) return undefined;
  return {
    state: row["state"] as JobLifecycleState,
    attempt: row["attempts"] as number,
    input: ownJson(JSON.parse(row["input"] as string)) as unknown as JobInput,
    configuration: ownJson(JSON.parse(row["configuration"] as string)),
  };
}
