import { randomUUID } from "node:crypto";
import type { JobsClient } from "../../capability/index.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import { carrierKind } from "./carrier-job.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";

/**
 * Proves that the bound Instance is producer and worker of the Jobs Instance, by asking about a queue that cannot be configured there:
 * whoever has the role is told that the queue is wrong, whoever has not learns only that. Nothing is stored and nothing claimed.
 *
 * @throws TaskQueueError `invalid-options` without one of the roles. @throws JobsRefusal when there was no answer.
 */
export async function proveRoles(jobs: JobsClient): Promise<void> {
  const queue = `lenso.probe/${randomUUID()}`;
  const [enqueued, claimed] = await Promise.all([
    jobs.enqueue({
      queue,
      kind: carrierKind,
      payload: {},
      idempotency_key: "probe",
      available_at: "2000-01-01T00:00:00Z",
      max_attempts: 1,
    }),
    jobs.claim({ queue }),
  ]);
  refuseUnless("enqueue", enqueued, "invalid_job", "a producer");
  refuseUnless("claim", claimed, "invalid_queue", "a worker");
}

type Answer = Awaited<ReturnType<JobsClient["enqueue"]>> | Awaited<ReturnType<JobsClient["claim"]>>;

function refuseUnless(operation: string, answer: Answer, expected: string, role: string): void {
  const code = answer.ok ? "a job of an unknown queue" : domainCode(answer.error);
  if (code === expected) return;
  if (!answer.ok && code === undefined) throw new JobsRefusal(operation, answer.error);
  const cause = new Error(
    `jobs: expected a client whose Instance is ${role} of the Jobs Instance, got ${String(code)} for ${operation}`,
  );
  throw new TaskQueueError("invalid-options", "work", { cause });
}
