import type { JsonValue } from "../../capability/index.ts";
import type { ErrorCode, JobState, JobStatus, JobSummary } from "../provider.ts";
import type { Row } from "./database.ts";
import type { Queue } from "./queue.ts";

/**
 * A task in pg-boss's terms. pg-boss's state is the truth; the cancel request beside it only says how to read it:
 *
 * | pg-boss           | no cancel request | with a cancel request                                       |
 * |-------------------|-------------------|-------------------------------------------------------------|
 * | created, retry    | pending           | running: its attempt was lost, the next look cancels it     |
 * | active            | running           | running                                                     |
 * | completed         | succeeded         | cancelled: requested after the worker's last look           |
 * | failed            | failed            | cancelled: its last attempt was lost                        |
 * | cancelled         | cancelled         | cancelled                                                   |
 * | no row (pruned)   | null              | null                                                        |
 *
 * A request is only recorded while the job is active, under its row lock, so no answer ever turns from one final state to another.
 * A claim is `retry_count + 1` once `started_on` is set; pg-boss raises it at every later claim and never takes it back. The number of
 * an attempt is that without the claims that were given back, and the limit likewise.
 */
export interface StoredTask {
  readonly task: string;
  readonly input: JsonValue;
  /** As the task has it, and after a manual retry what that left. */
  readonly maxAttempts: number;
  /** How many claims were given back without an attempt. */
  readonly returned?: number;
  readonly traceparent?: string;
}

/** What an attempt left in pg-boss's `output`. The result is text: pg-boss would rebuild an object on its way. */
export interface StoredOutcome {
  readonly result?: string;
  readonly error?: ErrorCode;
  /** Which claim failed, to know a repeated settlement by. */
  readonly attempt?: number;
}

/** The columns behind {@link summaryOf}; `j` is the job, `c` its cancel request. */
export const summaryColumns = `
  j.id::text as id, j.data->>'task' as task, j.state::text as state, j.retry_count as retries, j.retry_limit as most,
  j.data->>'maxAttempts' as planned, j.data->>'returned' as returned, j.started_on is not null as started, c.job_id is not null as flagged`;

/** The job with its cancel request. */
export function jobWithRequest({ tables }: Queue): string {
  return `${tables.job} j left join ${tables.cancel} c on c.job_id = j.id`;
}

export function summaryOf(row: Row): JobSummary {
  const flagged = row["flagged"] === true;
  const state = stateOf(row["state"] as string, flagged);
  const returned = integerOr(0, row["returned"]);
  return {
    jobId: row["id"] as string,
    task: (row["task"] as string | null) ?? "",
    state,
    attempt: row["started"] === true ? Number(row["retries"]) + 1 - returned : 0,
    // A final failure lowers pg-boss's limit; the task's own stays what is told.
    maxAttempts: Math.max(integerOr(1, row["planned"]), Number(row["most"]) + 1 - returned),
    cancelRequested: flagged || state === "cancelled",
  };
}

/** What others have put into the queue may be anything. */
function integerOr(fallback: number, value: unknown): number {
  const number = Number(value ?? fallback);
  return Number.isSafeInteger(number) && number >= 0 && number < 1_000_000 ? number : fallback;
}

export function statusOf(row: Row): JobStatus {
  const summary = summaryOf(row);
  const output = (parsed(row["output"]) ?? {}) as StoredOutcome;
  const failed = summary.state === "failed" || row["state"] === "retry";
  return {
    ...summary,
    result:
      summary.state === "succeeded" && output.result !== undefined
        ? (JSON.parse(output.result) as JsonValue)
        : null,
    // An output that is not ours is pg-boss's own word on a claim that went silent or ran too long.
    error: failed && !summary.cancelRequested && row["output"] !== null ? (output.error ?? "aborted") : null,
  };
}

/** A pool may hand JSON out as text. A text that is no JSON is a JSON string that somebody else has stored. */
export function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function stateOf(state: string, flagged: boolean): JobState {
  switch (state) {
    case "created":
    case "retry":
      return flagged ? "running" : "pending";
    case "active":
      return "running";
    case "completed":
      return flagged ? "cancelled" : "succeeded";
    case "failed":
      return flagged ? "cancelled" : "failed";
    default:
      return "cancelled";
  }
}
