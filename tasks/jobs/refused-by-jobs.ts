import { SafeCause, type TaskErrorPhase, TaskQueueError } from "../task-queue-error.ts";
import type { JobsRefusal } from "./jobs-refusal.ts";

/** What a domain answer of the Jobs Instance means for whoever configured the provider: no waiting helps there. */
export function refusedByJobs(refusal: JobsRefusal, queue: string, phase: TaskErrorPhase): TaskQueueError {
  const message =
    refusal.code === "unauthorized"
      ? "jobs: expected a client whose Instance has its role at the Jobs Instance (producer to enqueue, worker to work), got unauthorized"
      : `queue: expected a queue of the Jobs Instance, got "${queue}", which it answers with ${refusal.code}`;
  return new TaskQueueError("invalid-options", phase, { cause: new SafeCause(message, { cause: refusal }) });
}
