import type {
  CallResult,
  ClaimResponse,
  EnqueueRequest,
  EnqueueResponse,
  FailResponse,
  InspectResponse,
  JobsClient,
  LeaseRequest,
  RenewResponse,
} from "../../../capability/index.ts";

/** A call as a caller makes it. */
export type QueueCall = { readonly caller: string } & (
  | { readonly verb: "enqueue"; readonly request: EnqueueRequest }
  | { readonly verb: "claim"; readonly queue: string }
  | { readonly verb: "renew" | "complete"; readonly lease: LeaseRequest }
  | {
      readonly verb: "fail";
      readonly lease: LeaseRequest;
      readonly failure: { readonly failure_code: string; readonly retryable: boolean };
    }
  | { readonly verb: "inspect"; readonly job_id: string }
);

/** What the capability answered: a value or the code of a refusal. */
export type Answer = { readonly value: AnswerValue } | { readonly refused: string };

export type AnswerValue =
  | EnqueueResponse
  | ClaimResponse
  | RenewResponse
  | FailResponse
  | InspectResponse
  | { readonly completed: true };

/**
 * What is known of a call afterwards: its answer; that it was carried out and nobody heard the answer; nothing, when the
 * connection was lost; or that it was turned away at the door.
 */
export type Outcome = { readonly answer: Answer } | "unheard" | "unknown" | "never";

/** Makes the call. A runtime failure is rejected unless a part of the system was just taken away. */
export async function makeCall(client: JobsClient, call: QueueCall): Promise<Outcome> {
  const result = await send(client, call);
  if (result.ok) return { answer: { value: result.value } };
  if (result.error.kind === "domain") {
    const { error } = result.error;
    return { answer: { refused: typeof error === "string" ? error : error.code } };
  }
  const { kind, detail } = result.error.error;
  if (kind === "admission_closed") return "never";
  if (kind === "unavailable") return "unknown";
  throw new Error(`${call.verb} was answered by ${kind}: ${detail}`);
}

function send(client: JobsClient, call: QueueCall): Promise<CallResult<AnswerValue, string>> {
  switch (call.verb) {
    case "enqueue":
      return client.enqueue(call.request);
    case "claim":
      return client.claim({ queue: call.queue });
    case "renew":
      return client.renew(call.lease);
    case "complete":
      return client.complete(call.lease);
    case "fail":
      return client.fail({ ...call.lease, ...call.failure });
    case "inspect":
      return client.inspect({ job_id: call.job_id });
  }
}
