import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { InvokeOptions, JobsClient } from "../../capability/index.ts";
import { acceptedPayload, type JobKind } from "./define-job-kind.ts";

/** A job of a kind. */
export interface KindRequest<Kind extends JobKind> {
  /** A configured queue of the Jobs Instance. */
  readonly queue: string;
  readonly payload: StandardSchemaV1.InferInput<Kind["payload"]>;
  /** Names the intent, 1..256 of `A-Z a-z 0-9 . _ - : /`. The same request under it is the same job for ever. */
  readonly idempotencyKey: string;
  /**
   * Not before this time. Part of the intent: give a stable business time, never a fresh "now", which would conflict with itself on
   * the next try. Default: at once.
   */
  readonly availableAt?: Date | string;
  /** 1..100, the first attempt included. Default 3. */
  readonly maxAttempts?: number;
}

/**
 * Validates a payload by its kind and enqueues it. Resolves like `jobs.enqueue`; a payload that its schema refuses is
 * `invalid_job` and never sent.
 *
 * @example
 * await enqueueKind(jobs, sendMail, { queue: "mail", payload: { to: "ada" }, idempotencyKey: "welcome/ada" });
 */
export async function enqueueKind<Kind extends JobKind>(
  jobs: Pick<JobsClient, "enqueue">,
  kind: Kind,
  request: KindRequest<Kind>,
  context?: InvokeOptions,
): ReturnType<JobsClient["enqueue"]> {
  const { queue, idempotencyKey, availableAt = atOnce, maxAttempts = 3 } = request;
  try {
    const payload = await acceptedPayload(kind, request.payload);
    const available_at = typeof availableAt === "string" ? availableAt : availableAt.toISOString();
    return await jobs.enqueue(
      {
        queue,
        kind: kind.kind,
        payload,
        idempotency_key: idempotencyKey,
        available_at,
        max_attempts: maxAttempts,
      },
      context,
    );
  } catch {
    return { ok: false, error: { kind: "domain", error: "invalid_job" } };
  }
}

/** The same instant on every try, long past. */
const atOnce = "2000-01-01T00:00:00Z";
