import type { ClaimResponse, JobsClient } from "lenso-jobs-plugin/capability";
import type { SendMail } from "./mailer.ts";
import { type Message, messageIdOf, readMessage } from "./message.ts";
import { must } from "./narrate.ts";
import type { SentMail } from "./sent-mail.ts";

/** What the email worker works with. */
export interface EmailWorker {
  readonly jobs: JobsClient;
  readonly send: SendMail;
  readonly sent: SentMail;
  /** Called at each step of a delivery: where the demo kills the worker. */
  readonly reached?: (step: "sent" | "recorded", job: ClaimResponse) => Promise<void>;
}

/** One claimed job and what became of it. */
export interface Delivery {
  readonly job: ClaimResponse;
  /** `skipped`: an earlier attempt had sent it already. */
  readonly result: "sent" | "skipped" | "retry" | "failed";
  /** The next run of a job that is tried again. */
  readonly nextRun: string | null;
}

/** Claims the next letter and delivers it; undefined when none is due. */
export async function deliverNext(worker: EmailWorker): Promise<Delivery | undefined> {
  const claimed = await worker.jobs.claim({ queue: "mail" });
  if (claimed.ok) return deliver(worker, claimed.value);
  if (claimed.error.kind === "domain" && claimed.error.error === "no_job_available") return undefined;
  return must(claimed);
}

/**
 * Delivers a claimed letter. The lease says that nobody else may settle this job; it says nothing of whether the letter
 * went out before. So the worker looks at its own records first, and sends under a Message-ID that never changes.
 */
export async function deliver(worker: EmailWorker, job: ClaimResponse): Promise<Delivery> {
  const { jobs, send, sent, reached } = worker;
  const lease = { job_id: job.job_id, lease_token: job.lease_token };
  const message: Message = readMessage(job.payload);
  const messageId = messageIdOf(message);
  const skipped = await sent.has(messageId);
  if (!skipped) {
    const outcome = await send(message);
    if (outcome.kind !== "taken") {
      const failure = { failure_code: outcome.code, retryable: outcome.kind === "temporary" };
      const { status, available_at } = must(await jobs.fail({ ...lease, ...failure }));
      return { job, result: status === "queued" ? "retry" : "failed", nextRun: available_at };
    }
    await reached?.("sent", job);
    await sent.add(messageId);
  }
  await reached?.("recorded", job);
  must(await jobs.complete(lease));
  return { job, result: skipped ? "skipped" : "sent", nextRun: null };
}
