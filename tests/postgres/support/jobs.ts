import type { CallResult, ClaimResponse, EnqueueRequest, JobsClient } from "../../../capability/index.ts";

/** The value of a call that must have been answered. */
export function ok<Value>(result: CallResult<Value, string>): Value {
  if (result.ok) return result.value;
  throw new Error(`expected an answer, got ${problem(result)}`);
}

/** What a call came to, in a word: `ok`, a domain code, or a runtime kind as `runtime:unavailable`. */
export function problem(result: CallResult<unknown, string>): string {
  if (result.ok) return "ok";
  const { error } = result;
  if (error.kind === "runtime") return `runtime:${error.error.kind}`;
  return typeof error.error === "string" ? error.error : error.error.code;
}

/** What a host says when it runs: the detail of a runtime failure. */
export function detail(result: CallResult<unknown, string>): string {
  return !result.ok && result.error.kind === "runtime" ? result.error.error.detail : "";
}

export const longAgo = "2020-01-01T00:00:00Z";
let made = 0;

/** A valid request under a key of its own. */
export function newJob(changes: Partial<EnqueueRequest> = {}): EnqueueRequest {
  made += 1;
  return {
    queue: "mail",
    kind: "send",
    payload: { number: made },
    idempotency_key: `key-${made}-${Math.random().toString(36).slice(2)}`,
    available_at: longAgo,
    max_attempts: 3,
    ...changes,
  };
}

/** The proof of a lease, as the worker's calls take it. */
export function leaseOf(claimed: ClaimResponse): { job_id: string; lease_token: string } {
  return { job_id: claimed.job_id, lease_token: claimed.lease_token };
}

/** Enqueues one job and claims from its queue, which must have been empty. */
export async function givenClaimed(
  { producer, worker }: { readonly producer: JobsClient; readonly worker: JobsClient },
  changes: Partial<EnqueueRequest> = {},
): Promise<ClaimResponse> {
  const request = newJob(changes);
  const { job_id } = ok(await producer.enqueue(request));
  const claimed = ok(await worker.claim({ queue: request.queue }));
  if (claimed.job_id !== job_id) throw new Error("the queue was not empty: another job was claimed");
  return claimed;
}

/** The row's id that a public job id holds. */
export function rowOf(jobId: string): string {
  return Buffer.from(jobId.slice("job_".length), "base64url").readBigInt64BE(0).toString();
}
