import * as fc from "fast-check";
import {
  type InvocationContext,
  jobsCapability,
  type PluginFactory,
  type ProviderDispatchOutcome,
} from "../../capability/index.ts";
import { createMemoryJobs } from "../../host-fixtures/memory-jobs.ts";
import { jobsPlugin } from "../../plugin/plugin.ts";
import { expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { goodConfiguration } from "./good-configuration.ts";
import { armed, asRecord } from "./hostile-values.ts";
import { held, waiting, wireCalls } from "./wire-calls.ts";

/** Requests of all six operations as they come over a wire. */
export const wire: FuzzTarget = {
  name: "wire requests",
  share: 4,
  leastOfThousand: {
    "enqueue success": 20,
    "enqueue existing": 4,
    "enqueue idempotency_conflict": 8,
    "enqueue invalid_job": 25,
    "enqueue protocol_violation": 20,
    "enqueue unauthorized": 5,
    "claim success": 5,
    "claim no_job_available": 5,
    "claim invalid_queue": 15,
    "claim protocol_violation": 12,
    "claim unauthorized": 1,
    "renew success": 8,
    "renew invalid_lease": 16,
    "renew protocol_violation": 12,
    "renew unauthorized": 2,
    "complete success": 8,
    "complete invalid_lease": 16,
    "complete protocol_violation": 12,
    "complete unauthorized": 2,
    "fail success": 8,
    "fail invalid_lease": 6,
    "fail invalid_failure": 2,
    "fail protocol_violation": 16,
    "fail unauthorized": 2,
    "inspect success": 8,
    "inspect job_not_found": 16,
    "inspect protocol_violation": 12,
    "inspect unauthorized": 0.5,
    cancelled: 10,
    deadline_exceeded: 8,
    unknown_operation: 5,
  },
  property: (reach) =>
    fc.asyncProperty(wireCalls, async ({ operation, context, request: planned, isGood }) => {
      const { memory, given } = await openMemory();
      const request = armed(given(planned));
      const refused = await unprepared.invokeRequest(operation, context, request);
      const answered = await memory.invokeRequest(operation, context, request);
      for (const outcome of [refused, answered]) {
        expectDocumented(operation, outcome);
        expectNoCanary(outcome);
      }
      const answer = answerOf(answered);
      reach(ofAnyOperation.includes(answer) ? answer : `${operation} ${answer}`);
      const reachedStore = refused.kind === "runtime" && refused.failure.kind === "unavailable";
      // What was refused before the database gets the same answer where there is one; only what passed all checks asks for it.
      if (!reachedStore && !Bun.deepEquals(refused, answered)) {
        throw new Error(`${operation} was refused in two ways: ${refused.kind} and ${answered.kind}`);
      }
      if (answered.kind === "success" && !reachedStore)
        throw new Error(`${operation} succeeded without a store`);
      if (isGood && !["success", "existing", "idempotency_conflict", "no_job_available"].includes(answer))
        throw new Error(`${operation} refused what is right with ${answer}`);
    }),
};

const ofAnyOperation: readonly string[] = ["unknown_operation", "cancelled", "deadline_exceeded"];

function answerOf(outcome: ProviderDispatchOutcome): string {
  if (outcome.kind === "domain") return String(outcome.value);
  if (outcome.kind === "runtime") return outcome.failure.kind;
  return (outcome.value as { readonly created?: boolean }).created === false ? "existing" : "success";
}

/** Whatever is sent, the answer is one of those that the contract has for this operation. */
function expectDocumented(operation: string, outcome: ProviderDispatchOutcome): void {
  if (outcome.kind === "domain") {
    const definition = jobsCapability.operations[operation as "claim"];
    const known: readonly string[] = ["unauthorized", ...(definition?.errors ?? [])];
    if (!known.includes(outcome.value as string))
      throw new Error(`${operation} refused with a code of another operation`);
  }
  if (outcome.kind !== "runtime") return;
  const { kind, detail } = outcome.failure;
  if (
    !["protocol_violation", "unknown_operation", "cancelled", "deadline_exceeded", "unavailable"].includes(
      kind,
    )
  ) {
    throw new Error(`${operation} ended with ${kind}: ${detail}`);
  }
}

/** An Instance that is not prepared has no database: what it refuses by a code never came near one. */
const unprepared = instantiate(jobsPlugin).endpoint;

/** The same endpoint over a store, for what the checks let through: with one job that waits and one that a worker holds. */
async function openMemory() {
  const { instance, endpoint: memory } = instantiate(createMemoryJobs());
  await instance.prepare?.(undefined as never); // it has no requirement to look at
  const call = async (callerInstance: string, operation: string, request: object) => {
    const context: InvocationContext = { requestId: "0", callerInstance, cancelled: false };
    const outcome = await memory.invokeRequest(operation, context, request);
    if (outcome.kind !== "success") throw new Error(`the given ${operation} ended with ${outcome.kind}`);
    return outcome.value as Readonly<Record<string, string>>;
  };
  await call("producer", "enqueue", { ...waiting, idempotency_key: "held" });
  const { job_id: job = "", lease_token: token = "" } = await call("worker", "claim", {
    queue: waiting.queue,
  });
  await call("producer", "enqueue", waiting);
  /** The planned request with what exists only now in its place. */
  const given = (planned: unknown): unknown => {
    if (typeof planned !== "object" || planned === null) return planned;
    const { job_id, lease_token } = planned as { readonly job_id?: unknown; readonly lease_token?: unknown };
    if (job_id !== held.job && lease_token !== held.token) return planned;
    return asRecord({
      ...planned,
      ...(job_id === held.job && { job_id: job }),
      ...(lease_token === held.token && { lease_token: token }),
    });
  };
  return { memory, given };
}

function instantiate(plugin: PluginFactory) {
  const instance = plugin.instantiate({ instanceKey: "jobs", configuration: goodConfiguration });
  const endpoint = instance.endpoints.find((each) => each.descriptor.capability_id === "lenso.jobs@1");
  if (endpoint === undefined) throw new Error("the plugin has no endpoint of lenso.jobs@1");
  return { instance, endpoint };
}
