import * as fc from "fast-check";
import type { PluginFactory } from "../../capability/index.ts";
import {
  type CapabilityProviderBinding,
  type InvocationContext,
  jobsCapability,
  type ProviderDispatchOutcome,
} from "../../capability/index.ts";
import { startHost } from "../../host-fixtures/host.ts";
import { createMemoryJobs } from "../../host-fixtures/memory-jobs.ts";
import { jobsPlugin } from "../../plugin/plugin.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { goodConfiguration } from "./good-configuration.ts";
import { almost, armed, hostileName, hostileValue } from "./hostile-values.ts";

const operations = jobsCapability.descriptor.operations;
const jobId = fc.constantFrom(
  "job_AAAAAAAAAAGjuwBRNzQ0W247",
  "job_",
  `job_${"_".repeat(24)}`,
  `job_${"A".repeat(24)}`,
);
const token = fc.constantFrom(`job_${"lease_"}${"A".repeat(43)}`, `job_${"lease_"}${"B".repeat(43)}`);

const requests: fc.Arbitrary<unknown> = fc.oneof(
  almost({
    queue: fc.constant("mail"),
    kind: fc.constant("send"),
    payload: fc.oneof(fc.constant({ secret: canary }), hostileValue),
    idempotency_key: fc.constantFrom("a", "b", "c"),
    available_at: fc.constant("2026-01-01T00:00:00Z"),
    max_attempts: fc.integer({ min: -1, max: 102 }),
  }),
  almost({ queue: fc.constant("mail") }),
  almost({ job_id: jobId }),
  almost({ job_id: jobId, lease_token: token }),
  almost({
    job_id: jobId,
    lease_token: token,
    failure_code: fc.constantFrom("a", canary),
    retryable: fc.boolean(),
  }),
  hostileValue,
);

const contexts: fc.Arbitrary<InvocationContext> = fc.record(
  {
    requestId: fc.constant("1"),
    callerInstance: fc.constantFrom("producer", "worker", "observer", "stranger", "__proto__"),
    deadline: fc.oneof({ weight: 9, arbitrary: fc.constant("PT5S") }, { weight: 1, arbitrary: hostileName }),
    cancelled: fc.nat(15).map((chance) => chance === 15),
  },
  { requiredKeys: ["requestId", "cancelled"] },
);

interface WireCall {
  readonly operation: string;
  readonly context: InvocationContext;
  readonly request: unknown;
}

const calls: fc.Arbitrary<WireCall> = fc.record({
  operation: fc.oneof(
    { weight: 19, arbitrary: fc.constantFrom(...operations) },
    { weight: 1, arbitrary: hostileName },
  ),
  context: contexts,
  request: requests,
});

function endpointOf(plugin: PluginFactory): CapabilityProviderBinding {
  const instance = plugin.instantiate({ instanceKey: "jobs", configuration: goodConfiguration });
  const endpoint = instance.endpoints.find((each) => each.descriptor.capability_id === "lenso.jobs@1");
  if (endpoint === undefined) throw new Error("the plugin has no endpoint of lenso.jobs@1");
  return endpoint;
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
const unprepared = endpointOf(jobsPlugin);

/** The same endpoint over a store, for what the checks let through. */
async function openMemory(): Promise<CapabilityProviderBinding> {
  const plugin = createMemoryJobs();
  const opened = Promise.withResolvers<CapabilityProviderBinding>();
  await startHost({
    instances: {
      jobs: {
        plugin: {
          ...plugin,
          instantiate(input) {
            const instance = plugin.instantiate(input);
            const [endpoint] = instance.endpoints;
            if (endpoint !== undefined) opened.resolve(endpoint);
            return instance;
          },
        },
        configuration: goodConfiguration,
      },
    },
    bindings: [],
  });
  return opened.promise;
}

/** Requests of all six operations as they come over a wire. */
export const wire: FuzzTarget = {
  name: "wire requests",
  share: 4,
  property() {
    const opened = openMemory();
    return fc.asyncProperty(calls, async ({ operation, context, request: planned }) => {
      const request = armed(planned);
      const refused = await unprepared.invokeRequest(operation, context, request);
      const answered = await (await opened).invokeRequest(operation, context, request);
      for (const outcome of [refused, answered]) {
        expectDocumented(operation, outcome);
        expectNoCanary(outcome);
      }
      const reachedStore = refused.kind === "runtime" && refused.failure.kind === "unavailable";
      // What was refused before the database gets the same answer where there is one; only what passed all checks asks for it.
      if (!reachedStore && !Bun.deepEquals(refused, answered)) {
        throw new Error(`${operation} was refused in two ways: ${refused.kind} and ${answered.kind}`);
      }
      if (answered.kind === "success" && !reachedStore)
        throw new Error(`${operation} succeeded without a store`);
    });
  },
};
