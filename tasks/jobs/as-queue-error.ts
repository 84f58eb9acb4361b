import { adviseOnDatabase } from "../advise-on-database.ts";
import { type TaskErrorPhase, TaskQueueError } from "../task-queue-error.ts";
import { SchemaUnfit } from "./migration/verify-schema.ts";

const grants = "run migrateJobsTaskQueue with the provider's role as runtimeRole";

/**
 * What a call rejects with, where we know more than the error says: a schema that does not fit is no outage, and no repetition helps. Any
 * other error is returned as it is. `place` is the database's.
 */
export function asQueueError(cause: unknown, phase: TaskErrorPhase, place: string | undefined): unknown {
  if (cause instanceof TaskQueueError) return cause;
  if (cause instanceof SchemaUnfit) return new TaskQueueError("invalid-options", phase, { cause });
  const advice = adviseOnDatabase(cause, { place, grants });
  return advice === undefined ? cause : new TaskQueueError("provider-unavailable", phase, { cause, advice });
}
