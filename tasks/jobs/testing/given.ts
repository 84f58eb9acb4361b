import type { JsonValue } from "../../../capability/index.ts";
import type { Execute, ProviderEnqueue, TaskProvider } from "../../provider.ts";
import type { JobsClaim, JobsWorkerBackend } from "../worker-backend.ts";

/** A task to enqueue that is fine as it is. */
export function newTask(changes: Partial<ProviderEnqueue> = {}): ProviderEnqueue {
  return { task: "greet", input: { name: "Ada" }, maxAttempts: 3, ...changes };
}

/** The one job that is due. */
export async function claimOne(backend: JobsWorkerBackend): Promise<JobsClaim> {
  const claims = await backend.fetch(1);
  const [claim] = claims;
  if (claim === undefined) throw new Error("no job was due");
  return claim;
}

/** Works everything that is due and answers the job ids in the order in which they were entered. */
export async function workAll(
  provider: TaskProvider,
  answer: (jobId: string, attempt: number) => JsonValue = () => "done",
): Promise<string[]> {
  const entered: string[] = [];
  const execute: Execute = async ({ jobId, attempt }) => {
    entered.push(jobId);
    return { ok: true, result: answer(jobId, attempt) };
  };
  await provider.startWorker(execute, { concurrency: 4, maxJobs: 1000 }).done;
  return entered;
}

export const succeeded = { ok: true, result: "done" } as const;
export const failed = { ok: false, error: "handler-failed", final: false } as const;
export const failedForGood = { ok: false, error: "invalid-input", final: true } as const;
export const aborted = { ok: false, error: "aborted", final: false } as const;
