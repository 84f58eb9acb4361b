import {
  type CallResult,
  createJobsClient,
  type JobsClient,
  type JobsOperation,
} from "../../../capability/index.ts";
import { createTestClock, type TestClock } from "../../../host-fixtures/clock.ts";
import { startHost } from "../../../host-fixtures/host.ts";
import { createMemoryJobs } from "../../../host-fixtures/memory-jobs.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";

/** A call as it passed the worker's client. */
export interface SeenCall {
  readonly operation: JobsOperation;
  readonly request: unknown;
  readonly result: CallResult<unknown, string>;
}

/** A composed host around Jobs in memory, and a worker's client that a test can watch and disturb. */
export interface GivenJobs extends AsyncDisposable {
  readonly clock: TestClock;
  readonly producer: JobsClient;
  readonly worker: JobsClient;
  readonly calls: SeenCall[];
  /** Every call after which the answer is lost on its way: it returns true for those. */
  loses: (operation: JobsOperation) => boolean;
  /** Resolves with the next call, or an earlier one, that the test looks for. */
  seen(operation: JobsOperation, matches?: (call: SeenCall) => boolean): Promise<SeenCall>;
  stopHost(): Promise<void>;
}

export async function givenJobs(changes: { readonly lease_seconds?: number } = {}): Promise<GivenJobs> {
  const clock = createTestClock();
  const jobs = (id: string) => ({ id, capability: "lenso.jobs@1" });
  const consumer = testPlugin({ needs: [jobs("jobs")] });
  const host = await startHost({
    instances: {
      jobs: { plugin: createMemoryJobs({ clock }), configuration: { ...configuration, ...changes } },
      producer: { plugin: consumer },
      worker: { plugin: consumer },
    },
    bindings: ["producer", "worker"].map((key) => ({ consumer: key, requirement: "jobs", provider: "jobs" })),
  });
  const calls: SeenCall[] = [];
  const watchers = new Set<() => void>();
  const real = createJobsClient(host.handle("worker", "jobs"));
  const given: GivenJobs = {
    clock,
    calls,
    producer: createJobsClient(host.handle("producer", "jobs")),
    worker: watched(real),
    loses: () => false,
    async seen(operation, matches = () => true) {
      for (;;) {
        const call = calls.find((each) => each.operation === operation && matches(each));
        if (call) return call;
        const { promise, resolve } = Promise.withResolvers<void>();
        watchers.add(resolve);
        await promise;
        watchers.delete(resolve);
      }
    },
    stopHost: () => host.stop(),
    [Symbol.asyncDispose]: () => host.stop(),
  };
  return given;

  function watched(client: JobsClient): JobsClient {
    const entries = Object.entries(client).map(([name, call]) => {
      const operation = name as JobsOperation;
      return [
        operation,
        async (request: never, context: never) => {
          const result = await call(request, context);
          const answer = given.loses(operation) ? lost : result;
          calls.push({ operation, request, result: answer });
          for (const watcher of watchers) watcher();
          return answer;
        },
      ];
    });
    return Object.fromEntries(entries) as JobsClient;
  }
}

const lost: CallResult<never, string> = {
  ok: false,
  error: { kind: "runtime", error: { kind: "unavailable", detail: "the reply was lost" } },
};

const configuration = {
  schema: "jobs",
  database_url_secret: "jobs/url",
  lease_seconds: 30,
  retry_base_seconds: 10,
  retry_max_seconds: 60,
  queues: ["mail"],
  producer_instances: ["producer"],
  worker_instances: ["worker"],
};
