import { expect, test } from "bun:test";
import {
  bindSecretsProvider,
  type CapabilityHandle,
  createJobsClient,
  type InvocationContext,
  type InvokeOptions,
} from "../capability/index.ts";
import { testDatabase } from "../tests/support/test-database.ts";
import { jobsBunPlugin, type SdkLifecycle } from "./bun-plugin.ts";
import { setup } from "./operator/index.ts";

const database = await testDatabase({
  template: "bun-plugin",
  prepare: async (databaseUrl) => void (await setup({ databaseUrl, schema: "jobs" })),
});

const lifecycle: SdkLifecycle = {
  requestId: "1",
  cancelled: false,
  signal: new AbortController().signal,
  remainingTimeoutMs: () => 5000,
};

/** The Lenso Bun SDK's side of a dependency: its own context for each call, the provider's binding behind it. */
const invokeSecrets = (value: string) => {
  const binding = bindSecretsProvider({
    resolve: async (_, { reference }) =>
      reference === "database"
        ? { ok: true, value: { value } }
        : { ok: false, error: { kind: "domain", error: "unknown_reference" } },
  });
  return (operation: string, context: InvocationContext, payload: unknown) =>
    binding.invokeRequest(operation, { ...context, callerInstance: "jobs" }, payload);
};

const input = {
  schema: "jobs",
  database_url_secret: "database",
  lease_seconds: 30,
  retry_base_seconds: 1,
  retry_max_seconds: 60,
  queues: ["mail"],
  producer_instances: ["app"],
  worker_instances: ["app"],
};

test("the declaration has what definePlugin looks at", () => {
  expect(jobsBunPlugin.metadata).toEqual({
    pluginId: "lenso.jobs",
    rootSlot: "jobs",
    releaseVersion: "0.1.0",
  });
  const [provided] = jobsBunPlugin.provides;
  expect(provided.kind).toBe("lenso.capability");
  expect(provided.descriptor.operations).toEqual([
    "claim",
    "complete",
    "enqueue",
    "fail",
    "inspect",
    "renew",
  ]);
  expect(jobsBunPlugin.dependencies.secrets).toMatchObject({ kind: "lenso.dependency", cardinality: "one" });
  expect(jobsBunPlugin.config.kind).toBe("lenso.config");
  expect(Number.isSafeInteger(jobsBunPlugin.maxConcurrentRequests)).toBe(true);
});

test("an Instance that the SDK creates serves a job's whole life, and stops", async () => {
  const { config, create, dependencies, provides, stop } = jobsBunPlugin;
  const secrets = dependencies.secrets.contract.createClient(invokeSecrets(database.url));
  const instance = await create({ config: config.parse(input), dependencies: { secrets } }, lifecycle);
  const binding = provides[0].bindProvider(instance);
  const jobs = createJobsClient({
    invoke: (operation, payload) =>
      binding.invokeRequest(operation, { requestId: "2", callerInstance: "app", cancelled: false }, payload),
  });

  const job = {
    queue: "mail",
    kind: "welcome",
    payload: {},
    available_at: "2026-01-01T00:00:00Z",
    max_attempts: 1,
  };
  expect(await jobs.enqueue({ ...job, idempotency_key: "1" })).toMatchObject({ ok: true });
  const claimed = await jobs.claim({ queue: "mail" });
  if (!claimed.ok) throw new Error("nothing claimed");
  const { job_id, lease_token } = claimed.value;
  expect(await jobs.complete({ job_id, lease_token })).toEqual({ ok: true, value: { completed: true } });

  await stop(instance, lifecycle);
  await stop(instance, lifecycle);
  expect(await jobs.claim({ queue: "mail" })).toMatchObject({
    error: { error: { kind: "admission_closed" } },
  });
});

test("create fails like prepare, naming the reference and never a value", async () => {
  const { config, create, dependencies } = jobsBunPlugin;
  const secrets = dependencies.secrets.contract.createClient(invokeSecrets(database.url));
  const other = config.parse({ ...input, database_url_secret: "elsewhere" });
  const failure = create({ config: other, dependencies: { secrets } }, lifecycle);
  await expect(failure).rejects.toThrow('secret "elsewhere" was refused: unknown_reference');
  expect(() => config.parse({ ...input, queues: [] })).toThrow("queues: expected a non-empty array");
});

test("a secret that is never answered ends create at the SDK's limit, or at once when it gives up", async () => {
  const { config, create } = jobsBunPlugin;
  const asked: InvokeOptions[] = [];
  const secrets: CapabilityHandle = {
    invoke: (_operation, _payload, options) => {
      asked.push(options ?? {});
      return new Promise(() => {});
    },
  };
  const inputs = { config: config.parse(input), dependencies: { secrets } };
  const startedAt = performance.now();
  await expect(create(inputs, { ...lifecycle, remainingTimeoutMs: () => 50 })).rejects.toMatchObject({
    kind: "cancelled",
    detail: expect.stringContaining('secret "database"'),
  });
  const leave = new AbortController();
  const left = create(inputs, { ...lifecycle, signal: leave.signal, remainingTimeoutMs: () => 60_000 });
  leave.abort();
  await expect(left).rejects.toMatchObject({ kind: "cancelled" });
  expect(performance.now() - startedAt).toBeLessThan(5000);
  // The provider is told, should it listen.
  expect(asked.map(({ signal }) => signal?.aborted)).toEqual([true, true]);
});
