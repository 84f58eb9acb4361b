import type { JobsQueue } from "./jobs-queue.ts";
import { domainCode, JobsRefusal } from "./jobs-refusal.ts";

/** Whether a Jobs job can no longer be delivered. No answer is no evidence. */
export async function isLost(
  { jobs, trouble }: Pick<JobsQueue, "jobs" | "trouble">,
  jobId: string,
): Promise<boolean> {
  const answer = await jobs.inspect({ job_id: jobId });
  if (answer.ok) {
    trouble.ends("inspect");
    return answer.value.status === "succeeded" || answer.value.status === "failed";
  }
  if (domainCode(answer.error) === "job_not_found") return true;
  trouble.begins("inspect", new JobsRefusal("inspect", answer.error));
  return false;
}
