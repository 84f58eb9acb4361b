import type {
  CallResult,
  ClaimResponse,
  EnqueueRequest,
  InspectResponse,
  LeaseRequest,
  RuntimeFailureKind,
} from "../../../capability/index.ts";
import { addMilliseconds } from "../../../host-fixtures/clock.ts";
import { type Bundle, start } from "./backends.ts";

let keys = 0;

/** A request that is fine as it is, under a key of its own. */
export function jobRequest(changes: Partial<EnqueueRequest> = {}): EnqueueRequest {
  keys += 1;
  return {
    queue: "mail",
    kind: "mail.send",
    payload: { to: "ada" },
    idempotency_key: `key-${keys}`,
    available_at: start(),
    max_attempts: 3,
    ...changes,
  };
}

export type GivenState = "queued" | "running" | "retrying" | "expired" | "succeeded" | "failed";

export interface GivenJob {
  readonly job_id: string;
  readonly request: EnqueueRequest;
  /** Its first claim; absent while it is queued. */
  readonly lease: LeaseRequest;
  readonly claim: ClaimResponse;
}

/** A job in some state of its life. Any state but queued needs a queue without another due job. */
export async function givenJob(
  bundle: Bundle,
  given: Partial<EnqueueRequest> & { readonly state?: GivenState } = {},
): Promise<GivenJob> {
  const { state = "queued", ...changes } = given;
  const request = jobRequest(changes);
  const { job_id } = await valueOf(bundle.producer.enqueue(request));
  if (state === "queued") return { job_id, request, lease: undefined as never, claim: undefined as never };
  const claim = await claimOne(bundle, request.queue);
  if (claim.job_id !== job_id) throw new Error(`another job than the given one was due in ${request.queue}`);
  const lease = leaseOf(claim);
  if (state === "expired") await bundle.clock.advance(30_000);
  if (state === "succeeded") await valueOf(bundle.worker.complete(lease));
  if (state === "failed" || state === "retrying") {
    await valueOf(
      bundle.worker.fail({ ...lease, failure_code: "smtp.451", retryable: state === "retrying" }),
    );
  }
  return { job_id, request, lease, claim };
}

/** The next job of the queue, which must have one. */
export function claimOne(bundle: Bundle, queue = "mail"): Promise<ClaimResponse> {
  return valueOf(bundle.worker.claim({ queue }));
}

export function inspectJob(bundle: Bundle, job_id: string): Promise<InspectResponse> {
  return valueOf(bundle.observer.inspect({ job_id }));
}

export function leaseOf({ job_id, lease_token }: LeaseRequest): LeaseRequest {
  return { job_id, lease_token };
}

/** The value of a call that must succeed. */
export async function valueOf<T>(call: Promise<CallResult<T, string>>): Promise<T> {
  const result = await call;
  if (!result.ok) throw new Error(`the call failed: ${JSON.stringify(result.error)}`);
  return result.value;
}

/** The same of many calls at once. */
export function valuesOf<T>(calls: readonly Promise<CallResult<T, string>>[]): Promise<T[]> {
  return Promise.all(calls.map((call) => valueOf(call)));
}

/** A refusal of the capability, to compare a result with. */
export function domain(error: string): never {
  return { ok: false, error: { kind: "domain", error } } as never;
}

/** The kind of a result's runtime failure; undefined for any other result. */
export function runtimeKind(result: CallResult<unknown, string>): RuntimeFailureKind | undefined {
  return !result.ok && result.error.kind === "runtime" ? result.error.error.kind : undefined;
}

/** What became of a call, in one word: `ok`, the domain code, or the kind of the runtime failure. */
export function verdictOf(result: CallResult<unknown, string>): string {
  if (result.ok) return "ok";
  const { error } = result.error;
  return typeof error === "string" ? error : "kind" in error ? `runtime ${error.kind}` : error.code;
}

/** The instant so many seconds after the test began. */
export function at(seconds: number): string {
  return addMilliseconds(start(), seconds * 1000);
}

/** `count` results of a function of the index. */
export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** Numbers that look random and are the same in every run. */
export function seededRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
