import type { EnqueueRequest } from "lenso-jobs-plugin/capability";
import type { Demo } from "../demo.ts";
import { type Message, messageById } from "../message.ts";
import { check, must } from "../narrate.ts";

/** Enqueues a letter of the file, as `accounts` does when somebody registers. Answers the job's id. */
export async function enqueueMail({ client, jobIds }: Demo, id: string): Promise<string> {
  const { job_id, created } = must(await client("accounts", "mail").enqueue(mailJob(messageById(id))));
  check(`accounts enqueued the letter "${id}"`, created);
  jobIds.mail.push(job_id);
  return job_id;
}

/** The job for a letter. All of it comes from the letter, nothing from the moment: asked again, it is the same request. */
export function mailJob(message: Message): EnqueueRequest {
  return {
    queue: "mail",
    kind: "send-mail",
    payload: { ...message },
    idempotency_key: message.id,
    available_at: message.registered_at,
    max_attempts: 5,
  };
}
