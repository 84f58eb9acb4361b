/** Where a job stands. `completed`, `failed` and `cancelled` are never left. */
export type JobLifecycleState =
  | "queued"
  | "running"
  /** Between a lost attempt and the next one, or held by its provider's needs. */
  | "waiting"
  /** Only a person can say how it goes on. */
  | "attention_required"
  | "completed"
  | "failed"
  | "cancelled";

/** Which states each state may be left for. A retry is running → waiting → queued. */
export const jobLifecycle: Readonly<Record<JobLifecycleState, readonly JobLifecycleState[]>> = Object.freeze({
  queued: Object.freeze(["running", "waiting", "attention_required", "failed", "cancelled"] as const),
  running: Object.freeze(["waiting", "attention_required", "completed", "failed", "cancelled"] as const),
  waiting: Object.freeze([
    "queued",
    "running",
    "attention_required",
    "completed",
    "failed",
    "cancelled",
  ] as const),
  attention_required: Object.freeze([
    "queued",
    "running",
    "waiting",
    "completed",
    "failed",
    "cancelled",
  ] as const),
  completed: Object.freeze([] as const),
  failed: Object.freeze([] as const),
  cancelled: Object.freeze([] as const),
});

/** Whether a job may go from one state straight to the other. */
export function canMoveJob(from: JobLifecycleState, to: JobLifecycleState): boolean {
  return jobLifecycle[from].includes(to);
}

/** Whether a job in this state will never change again. */
export function isTerminalJobState(state: JobLifecycleState): boolean {
  return jobLifecycle[state].length === 0;
}

/** Whether the value is the name of a state. */
export function isJobLifecycleState(value: unknown): value is JobLifecycleState {
  return typeof value === "string" && Object.hasOwn(jobLifecycle, value);
}
