import * as v from "valibot";
import { integer } from "./check-options.ts";
import { copyPlainJson, resultLimits } from "./json-value.ts";
import type { CancelOutcome, JobPage, JobStatus } from "./provider.ts";
import { SafeCause, type TaskErrorPhase, TaskQueueError } from "./task-queue-error.ts";

/**
 * Asks a provider and checks what comes back: a provider may be anybody's, and a caller decides on these answers.
 *
 * @throws TaskQueueError the provider's own, or `provider-unavailable` for whatever else it throws or answers.
 */
export async function askProvider<Schema extends v.GenericSchema>(
  phase: TaskErrorPhase,
  schema: Schema,
  ask: () => Promise<unknown>,
): Promise<v.InferOutput<Schema>> {
  let answer: unknown;
  try {
    answer = await ask();
  } catch (cause) {
    throw cause instanceof TaskQueueError
      ? cause
      : new TaskQueueError("provider-unavailable", phase, { cause });
  }
  const parsed = v.safeParse(schema, answer);
  if (parsed.success) return parsed.output;
  const place = v.getDotPath(parsed.issues[0]) ?? "the answer";
  const cause = new SafeCause(`the provider broke its contract at ${place}: ${parsed.issues[0].message}`);
  throw new TaskQueueError("provider-unavailable", phase, { cause });
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether a text can be the id of a job. One that cannot names no job, so no provider needs to be asked. */
export function isJobId(id: unknown): id is string {
  return typeof id === "string" && uuidPattern.test(id);
}

const uuid = v.pipe(v.string(), v.regex(uuidPattern, "expected a UUID in lower case"));
const plainResult = v.pipe(
  v.unknown(),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    try {
      return copyPlainJson(dataset.value, resultLimits);
    } catch {
      addIssue({ message: "expected plain JSON within its limits" });
      return NEVER;
    }
  }),
);

const summary = {
  jobId: uuid,
  task: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
  state: v.picklist(["pending", "running", "succeeded", "failed", "cancelled"]),
  attempt: integer(0, Number.MAX_SAFE_INTEGER),
  maxAttempts: integer(1, Number.MAX_SAFE_INTEGER), // a manual retry adds one
  cancelRequested: v.boolean(),
};
const Status: v.GenericSchema<unknown, JobStatus> = v.strictObject({
  ...summary,
  result: plainResult,
  error: v.nullable(v.picklist(["handler-failed", "invalid-input", "invalid-result", "aborted"])),
});

export const JobId: v.GenericSchema<unknown, string> = uuid;

/** The status of that very job, or null. */
export function StatusOf(jobId: string): v.GenericSchema<unknown, JobStatus | null> {
  const own = v.check<JobStatus, string>(
    (status) => status.jobId === jobId,
    "expected the job that was asked for",
  );
  return v.nullable(v.pipe(Status, own));
}

export const Outcome: v.GenericSchema<unknown, CancelOutcome> = v.picklist([
  "cancelled",
  "requested",
  "terminal",
  "missing",
]);

export const Retried: v.GenericSchema<unknown, boolean> = v.boolean();

/** What a queue is, for as long as it lives. */
export interface QueueIdentity {
  /** The kind of its provider. */
  readonly kind: string;
  readonly id: string;
}
export const Identity: v.GenericSchema<unknown, QueueIdentity> = v.strictObject({
  kind: v.pipe(v.string(), v.minLength(1)),
  id: uuid,
});

/** The job that holds a deduplication key; its status is null once it has been pruned. */
export interface KeyHolder {
  readonly jobId: string;
  readonly status: JobStatus | null;
}
export const Holder: v.GenericSchema<unknown, KeyHolder | null> = v.nullable(
  v.pipe(
    v.strictObject({ jobId: uuid, status: v.nullable(Status) }),
    v.check(({ jobId, status }) => status === null || status.jobId === jobId, "expected the key's own job"),
  ),
);

/** A page that holds what was asked for and no more: size, order and tasks. */
export function PageOf(query: {
  readonly tasks: readonly string[];
  readonly limit: number;
  readonly after?: string;
}): v.GenericSchema<unknown, JobPage> {
  return v.pipe(
    v.strictObject({ jobs: v.array(v.strictObject(summary)), next: v.nullable(uuid) }),
    v.check(({ jobs }) => jobs.length <= query.limit, "expected at most as many jobs as asked for"),
    v.check(
      ({ jobs }) => jobs.every(({ task }) => query.tasks.includes(task)),
      "expected only the tasks named",
    ),
    v.check(
      ({ jobs }) => jobs.every(({ jobId }, i) => jobId > (jobs[i - 1]?.jobId ?? query.after ?? "")),
      "expected ascending job ids after the cursor",
    ),
    v.check(
      ({ jobs, next }) => next === null || next === jobs.at(-1)?.jobId,
      "expected the last job's id as next",
    ),
  );
}
