import { randomUUID } from "node:crypto";
import type { JobsClient } from "../../capability/index.ts";
import { SafeCause, type TaskErrorPhase, TaskQueueError } from "../task-queue-error.ts";
import { carrierKind } from "./carrier-job.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";
import { succeedOnce } from "./succeed-once.ts";

/**
 * Proves that the bound Instance is producer and worker of the Jobs Instance, by asking about a queue that cannot be configured there:
 * whoever has the role is told that the queue is wrong, whoever has not learns only that. Nothing is stored and nothing claimed.
 *
 * @throws TaskQueueError `invalid-options` without one of the roles. @throws JobsRefusal when there was no answer.
 */
export async function proveRoles(jobs: JobsClient): Promise<void> {
  const [, claimed] = await Promise.all([proveProducer(jobs, "work"), jobs.claim({ queue: unknownQueue() })]);
  refuseUnless({ operation: "claim", role: "a worker", phase: "work" }, claimed, "invalid_queue");
}

/** The same of the producer's role alone. */
export async function proveProducer(jobs: JobsClient, phase: TaskErrorPhase): Promise<void> {
  const enqueued = await jobs.enqueue({
    queue: unknownQueue(),
    kind: carrierKind,
    payload: {},
    idempotency_key: "probe",
    available_at: "2000-01-01T00:00:00Z",
    max_attempts: 1,
  });
  refuseUnless({ operation: "enqueue", role: "a producer", phase }, enqueued, "invalid_job");
}

/** Proves until there was an answer. Without one nothing is refused: what is recorded is dispatched when the capability is back. */
export function proveUntilAnswered(prove: () => Promise<void>): () => Promise<void> {
  const proveOnce = succeedOnce(prove);
  return () =>
    proveOnce().catch((error: unknown) => {
      if (!(error instanceof JobsRefusal)) throw error;
    });
}

function unknownQueue(): string {
  return `lenso.probe/${randomUUID()}`;
}

type Answer = Awaited<ReturnType<JobsClient["enqueue"]>> | Awaited<ReturnType<JobsClient["claim"]>>;

interface Probe {
  readonly operation: string;
  readonly role: string;
  readonly phase: TaskErrorPhase;
}

function refuseUnless({ operation, role, phase }: Probe, answer: Answer, expected: string): void {
  const code = answer.ok ? "a job of an unknown queue" : domainCode(answer.error);
  if (code === expected) return;
  if (!answer.ok && code === undefined) throw new JobsRefusal(operation, answer.error);
  const cause = new SafeCause(
    `jobs: expected a client whose Instance is ${role} of the Jobs Instance, got ${String(code)} for ${operation}`,
  );
  throw new TaskQueueError("invalid-options", phase, { cause });
}
