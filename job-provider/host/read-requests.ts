import { isRecordId } from "../../tasks/jobs/carrier-job.ts";
import { refuse } from "../canonical/pointer-text.ts";
import { type Member, readIdentity, readInteger, readRecord } from "../canonical/read-record.ts";
import { isJobLifecycleState, type JobLifecycleState } from "../lifecycle/job-lifecycle.ts";
import type { JobReference } from "../lifecycle/job-snapshot.ts";
import { readSignal } from "../submission/parse-job-submit-input.ts";
import type { JobCommandRequest } from "./commands/command-job.ts";
import type { JobResolution } from "./commands/resolve-job-attention.ts";
import type { JobListRequest, JobLogRequest, JobQueryRequest } from "./job-host.ts";

/** The highest revision that the records can hold. */
export const REVISION_LIMIT = 2_147_483_647;

/** @throws TypeError naming the field */
export function readJobReference(value: unknown): JobReference {
  const { hostId, jobId } = readRecord(root(value, "reference"), ["hostId", "jobId"]);
  return { hostId: readIdentity(hostId), jobId: readIdentity(jobId) };
}

/** @throws TypeError naming the field */
export function readListRequest(value: unknown): JobListRequest & { readonly limit: number } {
  const fields = readRecord(root(value, "list"), [], ["state", "providerId", "limit", "after"]);
  return {
    ...(fields.state && { state: readState(fields.state) }),
    ...(fields.providerId && { providerId: readIdentity(fields.providerId) }),
    limit: fields.limit ? readInteger(fields.limit, 1, 100) : 50,
    ...(fields.after && { after: readCursor(fields.after) }),
  };
}

/** @throws TypeError naming the field */
export function readLogRequest(value: unknown): Required<JobLogRequest> {
  const { after, limit } = readRecord(root(value, "logs"), [], ["after", "limit"]);
  return {
    after: after ? readInteger(after, 0, REVISION_LIMIT) : 0,
    limit: limit ? readInteger(limit, 1, 1000) : 100,
  };
}

/** @throws TypeError naming the field */
export function readWatchOptions(value: unknown): {
  readonly after: number;
  readonly signal: AbortSignal | undefined;
} {
  const { after, signal } = readRecord(root(value, "watch"), [], ["after", "signal"]);
  return {
    after: after ? readInteger(after, 0, REVISION_LIMIT) : 0,
    signal: signal && readSignal(signal),
  };
}

/** @throws TypeError naming the field */
export function readQueryRequest(value: unknown): JobQueryRequest & { readonly value: unknown } {
  const fields = readRecord(root(value, "query"), [], ["value", "signal"]);
  return {
    value: fields.value ? fields.value.value : null,
    ...(fields.signal && { signal: readSignal(fields.signal) }),
  };
}

/** @throws TypeError naming the field */
export function readCommandRequest(value: unknown): JobCommandRequest {
  const keys = ["commandId", "expectedRevision", "value"] as const;
  const fields = readRecord(root(value, "command"), keys, ["signal"]);
  return {
    commandId: readIdentity(fields.commandId),
    expectedRevision: readInteger(fields.expectedRevision, 1, REVISION_LIMIT),
    value: fields.value.value,
    ...(fields.signal && { signal: readSignal(fields.signal) }),
  };
}

/** What a person decided, and about which revision. @throws TypeError naming the field */
export function readResolution(value: unknown): {
  readonly expectedRevision: number;
  readonly signal?: AbortSignal;
  readonly resolution: JobResolution;
} {
  const member = root(value, "resolveAttention");
  const keys = ["expectedRevision", "action"] as const;
  const { expectedRevision, action, signal, result } = readRecord(member, keys, ["signal", "result"]);
  const known = ["complete", "fail", "cancel", "requeue"] as const;
  const found = known.find((each) => each === action.value);
  if (found === undefined) return refuse(action.at, `expected one of ${known.join(", ")}`);
  if (found !== "complete" && result !== undefined) return refuse(result.at, "only complete takes a result");
  if (found === "complete" && result === undefined) return refuse(["resolveAttention", "result"], "missing");
  return {
    expectedRevision: readInteger(expectedRevision, 1, REVISION_LIMIT),
    ...(signal && { signal: readSignal(signal) }),
    resolution: found === "complete" ? { action: found, result: result?.value } : { action: found },
  };
}

/** The name of a query or a command. @throws TypeError */
export function readOperationName(value: unknown): string {
  return readIdentity(root(value, "name"));
}

function root(value: unknown, name: string): Member {
  return { value, at: [name] };
}

function readState({ value, at }: Member): JobLifecycleState {
  return isJobLifecycleState(value) ? value : refuse(at, "no state of a job");
}

function readCursor({ value, at }: Member): string {
  return typeof value === "string" && isRecordId(value)
    ? value
    : refuse(at, "expected the next of another page");
}
