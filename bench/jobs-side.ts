import { jobsPlugin } from "lenso-jobs-plugin";
import { createJobsClient, type JobsClient, type PluginFactory } from "lenso-jobs-plugin/capability";
import { secretsFromMap, startHost } from "lenso-jobs-plugin/host-fixtures";
import { setup } from "lenso-jobs-plugin/operator";
import type { Side } from "./side.ts";

/** This package through its front door: a JobsClient from the handle of a composed host. */
export async function jobsSide(databaseUrl: string): Promise<Side> {
  await setup({ databaseUrl, schema: "bench_jobs" });
  const host = await startHost({
    instances: {
      secrets: { plugin: secretsFromMap({ database: databaseUrl }) },
      jobs: { plugin: jobsPlugin, configuration },
      app: { plugin: application },
    },
    bindings: [
      { consumer: "jobs", requirement: "secrets", provider: "secrets" },
      { consumer: "app", requirement: "jobs", provider: "jobs" },
    ],
  });
  const jobs = createJobsClient(host.handle("app", "jobs"));
  const run = crypto.randomUUID();
  let enqueued = 0;
  return {
    name: "lenso-jobs",
    async enqueue() {
      enqueued += 1;
      ensure(await jobs.enqueue({ ...job, idempotency_key: `${run}-${enqueued}` }));
    },
    bulk: (count, side) => many(count, () => side.enqueue()),
    workOne: () => workOne(jobs),
    drain: async (concurrency) => {
      const worked = await Promise.all(
        Array.from({ length: concurrency }, async () => {
          let done = 0;
          while (await workOne(jobs)) done += 1;
          return done;
        }),
      );
      return worked.reduce((sum, done) => sum + done, 0);
    },
    stop: () => host.stop(),
  };
}

const configuration = {
  schema: "bench_jobs",
  database_url_secret: "database",
  lease_seconds: 60,
  retry_base_seconds: 1,
  retry_max_seconds: 60,
  queues: ["bench"],
  producer_instances: ["app"],
  worker_instances: ["app"],
};

const application: PluginFactory = {
  packageId: "bench.app",
  packageVersion: "1.0.0",
  requirements: [{ id: "jobs", capability: "lenso.jobs@1", version: "1.0.0", cardinality: "one" }],
  capabilities: [],
  instantiate: () => ({ endpoints: [] }),
};

const job = {
  queue: "bench",
  kind: "bench",
  payload: { text: "x".repeat(80), number: 1 },
  available_at: "2026-01-01T00:00:00Z",
  max_attempts: 3,
};

async function workOne(jobs: JobsClient): Promise<boolean> {
  const claimed = await jobs.claim({ queue: "bench" });
  if (!claimed.ok && claimed.error.kind === "domain" && claimed.error.error === "no_job_available")
    return false;
  const { job_id, lease_token } = ensure(claimed);
  ensure(await jobs.complete({ job_id, lease_token }));
  return true;
}

function ensure<T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T {
  if (result.ok) return result.value;
  throw new Error(`call failed: ${JSON.stringify(result.error)}`);
}

async function many(count: number, call: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: count }, call));
}
