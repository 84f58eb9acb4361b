import { canonicalJsonText } from "../json-value.ts";
import type {
  Execute,
  JobPage,
  JobStatus,
  JobSummary,
  ProviderEnqueue,
  TaskProvider,
  TaskWorker,
} from "../provider.ts";
import type { KeyHolder } from "../provider-answers.ts";
import { TaskQueueError } from "../task-queue-error.ts";
import { runWorker } from "../worker/run-worker.ts";
import { MemoryBackend, type MemoryJob } from "../worker/testing/memory-backend.ts";
import { processTime } from "../worker/time.ts";

/** A provider over a table in memory, with the one worker runtime. What was asked of it stays to be looked at. */
export class MemoryProvider implements TaskProvider {
  readonly backend: MemoryBackend = new MemoryBackend(processTime, { leaseMs: 30_000 });
  readonly enqueued: ProviderEnqueue[] = [];
  closed = 0;
  readonly #keys = new Map<string, { readonly jobId: string; readonly intent: string }>();
  readonly #id = crypto.randomUUID();

  async enqueue(request: ProviderEnqueue): Promise<string> {
    this.enqueued.push(request);
    const { task, input, maxAttempts, traceparent, deduplicationKey: key } = request;
    const intent = canonicalJsonText([task, input]);
    const holder = key === undefined ? undefined : this.#keys.get(key);
    if (holder && holder.intent !== intent) throw new TaskQueueError("deduplication-conflict", "enqueue");
    if (holder) return holder.jobId;
    const jobId = Bun.randomUUIDv7();
    if (key !== undefined) this.#keys.set(key, { jobId, intent });
    this.backend.add({
      jobId,
      task,
      input,
      maxAttempts,
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    return jobId;
  }

  async get(jobId: string): Promise<JobStatus | null> {
    const job = this.backend.jobs.get(jobId);
    return job ? statusOf(job) : null;
  }

  async cancel(jobId: string): Promise<"cancelled" | "requested" | "terminal" | "missing"> {
    const job = this.backend.jobs.get(jobId);
    if (job === undefined) return "missing";
    if (job.state === "running") {
      job.cancelRequested = true;
      return "requested";
    }
    if (job.state !== "pending") return "terminal";
    job.state = "cancelled";
    return "cancelled";
  }

  async retry(jobId: string): Promise<boolean> {
    const job = this.backend.jobs.get(jobId);
    if (job?.state !== "failed") return false;
    job.maxAttempts = job.attempt + 1;
    job.state = "pending";
    return true;
  }

  async list(query: {
    readonly tasks: readonly string[];
    readonly limit: number;
    readonly after?: string;
  }): Promise<JobPage> {
    const all = [...this.backend.jobs.values()]
      .map(statusOf)
      .filter(({ task }) => query.tasks.includes(task));
    const rest = all.map(summaryOf).filter(({ jobId }) => jobId > (query.after ?? ""));
    const jobs = rest.sort((a, b) => (a.jobId < b.jobId ? -1 : 1)).slice(0, query.limit);
    return { jobs, next: rest.length > jobs.length ? (jobs.at(-1)?.jobId ?? null) : null };
  }

  async identity(): Promise<{ readonly kind: string; readonly id: string }> {
    return { kind: "memory", id: this.#id };
  }

  async lookupDeduplicationKey(key: string): Promise<KeyHolder | null> {
    const holder = this.#keys.get(key);
    return holder ? { jobId: holder.jobId, status: await this.get(holder.jobId) } : null;
  }

  startWorker(execute: Execute, options: Parameters<TaskProvider["startWorker"]>[1]): TaskWorker {
    return runWorker(this.backend, execute, options);
  }

  async close(): Promise<void> {
    this.closed += 1;
  }
}

function summaryOf({ jobId, task, state, attempt, maxAttempts, cancelRequested }: JobStatus): JobSummary {
  return { jobId, task, state, attempt, maxAttempts, cancelRequested };
}

function statusOf(job: MemoryJob): JobStatus {
  const { jobId, task, state, attempt, maxAttempts, cancelRequested, result } = job;
  return {
    jobId,
    task,
    state,
    attempt,
    maxAttempts,
    cancelRequested,
    result,
    error: job.error as JobStatus["error"],
  };
}
