import { hash } from "node:crypto";
import type { EnqueueRequest, EnqueueResponse, ProviderResult } from "../../capability/index.ts";
import type { Call } from "../call.ts";
import { formatJobId } from "../job-id.ts";
import { maxPayloadBytes, type NewJob } from "../store/job-store.ts";
import { canonicalJson } from "./canonical-json.ts";
import { isName } from "./names.ts";
import { type OperationDeps, refuse } from "./operation.ts";
import { utcInstant } from "./timestamp.ts";

/** Stores a job, or finds the one that the same intent made before. */
export async function enqueue(
  deps: OperationDeps,
  call: Call,
  request: EnqueueRequest,
): Promise<ProviderResult<EnqueueResponse, "invalid_job" | "idempotency_conflict">> {
  const job = checkedJob(deps, call.caller ?? "", request);
  if (job === undefined) return refuse("invalid_job");
  const verdict = await deps.store().enqueue(job, call);
  if (verdict.kind === "conflict") return refuse("idempotency_conflict");
  return { ok: true, value: { job_id: formatJobId(verdict.id), created: verdict.kind === "created" } };
}

/** The job in canonical form, or undefined when a value is out of its bounds. Reads the caller's objects once. */
function checkedJob(deps: OperationDeps, producer: string, request: EnqueueRequest): NewJob | undefined {
  const { queue, kind, idempotency_key: key, max_attempts: maxAttempts } = request;
  if (!deps.queues.has(queue) || !isName(kind, 256) || !isName(key, 256)) return undefined;
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > 100) return undefined;
  const requestedAt = utcInstant(request.available_at);
  const payload = canonicalPayload(request.payload);
  if (requestedAt === undefined || payload === undefined) return undefined;
  return {
    producer,
    queue,
    kind,
    key,
    payload,
    requestedAt,
    maxAttempts,
    intent: intentOf(queue, kind, payload, requestedAt, maxAttempts),
  };
}

function canonicalPayload(payload: unknown): string | undefined {
  try {
    const text = canonicalJson(payload, maxPayloadBytes);
    return Buffer.byteLength(text) <= maxPayloadBytes ? text : undefined;
  } catch {
    // Not portable JSON, or an exotic object that threw when it was read. Its text may hold the payload: say nothing of it.
    return undefined;
  }
}

/** SHA-256 over the canonical JSON of what the producer meant. Frozen: stored digests are compared with new ones for ever. */
function intentOf(
  queue: string,
  kind: string,
  payload: string,
  requestedAt: string,
  maxAttempts: number,
): string {
  const intent = `{"available_at":"${requestedAt}","kind":"${kind}","max_attempts":${maxAttempts},"payload":${payload},"queue":"${queue}"}`;
  return hash("sha256", intent, "hex");
}
