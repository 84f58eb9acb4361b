import {
  createJobsClient,
  createSignalsClient,
  type JobsClient,
  RuntimeFailureError,
  type SignalsClient,
} from "../../../capability/index.ts";
import { secretsFromMap, startHost } from "../../../host-fixtures/index.ts";
import { testPlugin } from "../../../host-fixtures/testing/test-plugin.ts";
import { jobsPlugin } from "../../../plugin/index.ts";
import type { TestDriver } from "../../postgres/support/jobs-host.ts";
import { chaosQueues } from "./chaos-run.ts";

export interface ChaosHostOptions {
  /** The database as this process reaches it. */
  readonly url: string;
  readonly driver: TestDriver;
  readonly leaseSeconds: number;
}

/** A composed host with the plugin as it is published, a producer and a worker. */
export interface ChaosHost {
  readonly producer: JobsClient;
  readonly worker: JobsClient;
  readonly signals: SignalsClient;
  stop(): Promise<void>;
}

/** Starts one, again and again while the database is out of reach, as a supervisor does. Throws whatever else is wrong. */
export async function startChaosHost(options: ChaosHostOptions): Promise<ChaosHost> {
  for (;;) {
    try {
      return await start(options);
    } catch (error) {
      if (!isOutage(error)) throw error;
      await Bun.sleep(100);
    }
  }
}

function isOutage(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isOutage);
  return error instanceof RuntimeFailureError && ["unavailable", "deadline_exceeded"].includes(error.kind);
}

async function start({ url, driver, leaseSeconds }: ChaosHostOptions): Promise<ChaosHost> {
  const producer = testPlugin({ needs: [{ id: "jobs", capability: "lenso.jobs@1" }], provides: {} });
  const worker = testPlugin({
    needs: [
      { id: "jobs", capability: "lenso.jobs@1" },
      { id: "signals", capability: "lenso.jobs-signals@1" },
    ],
    provides: {},
  });
  const host = await startHost({
    instances: {
      secrets: { plugin: secretsFromMap({ "jobs/database": url }) },
      jobs: {
        plugin: jobsPlugin,
        configuration: {
          schema: "jobs",
          database_url_secret: "jobs/database",
          lease_seconds: leaseSeconds,
          retry_base_seconds: 1,
          retry_max_seconds: 2,
          queues: [...chaosQueues],
          producer_instances: ["producer"],
          worker_instances: ["worker"],
          driver,
        },
      },
      producer: { plugin: producer },
      worker: { plugin: worker },
    },
    bindings: [
      { consumer: "jobs", requirement: "secrets", provider: "secrets" },
      { consumer: "producer", requirement: "jobs", provider: "jobs" },
      { consumer: "worker", requirement: "jobs", provider: "jobs" },
      { consumer: "worker", requirement: "signals", provider: "jobs" },
    ],
    prepareTimeoutMs: 10_000,
    activateTimeoutMs: 10_000,
  });
  return {
    producer: createJobsClient(host.handle("producer", "jobs")),
    worker: createJobsClient(host.handle("worker", "jobs")),
    signals: createSignalsClient(host.handle("worker", "signals")),
    stop: () => host.stop(),
  };
}
