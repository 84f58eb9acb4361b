import { expect, test } from "bun:test";
import type { JobsClient } from "../../capability/index.ts";
import { createJobsTaskProvider } from "./create-jobs-task-provider.ts";
import type { JobsTaskProviderOptions } from "./options.ts";

const jobs = Object.fromEntries(
  ["claim", "complete", "enqueue", "fail", "inspect", "renew"].map((name) => [name, () => undefined]),
) as unknown as JobsClient;
const connectionString = "postgres://user:secret@localhost:1/db";
const fine: JobsTaskProviderOptions = { jobs, queue: "tasks", leaseSeconds: 30, connectionString };

test("options that are fine make a provider, which connects to nothing", async () => {
  await createJobsTaskProvider(fine).close();
});

test.each([
  ["jobs: expected a client of lenso.jobs@1", { jobs: {} }],
  ["queue: expected 1..128", { queue: "a b" }],
  ["queue: expected 1..128", { queue: "" }],
  ["leaseSeconds: expected an integer 1..3600, got 0", { leaseSeconds: 0 }],
  ["pollIntervalMs: expected an integer 50..60000, got 1", { pollIntervalMs: 1 }],
  ["sweepIntervalSeconds: expected an integer 1..3600, got 0.5", { sweepIntervalSeconds: 0.5 }],
  ["retentionSeconds: expected an integer", { retentionSeconds: -1 }],
  ["schema: expected a-z", { schema: "public" }],
  ["schema: expected a-z", { schema: 'a"b' }],
  ["connectionString: expected postgres://", { connectionString: "mysql://secret" }],
  [
    "expected exactly one of connectionString and pool",
    { pool: Object.assign(() => 1, { unsafe() {}, begin() {} }) },
  ],
  ["pool: expected a pg.Pool or a Bun.SQL", { connectionString: undefined, pool: {} }],
  ["signals: expected a client of lenso.jobs-signals@1", { signals: {} }],
  ["onError: expected a function", { onError: 1 }],
  ["concurrency: no such key", { concurrency: 1 }],
])("%s", (message, changes) => {
  const given = Object.fromEntries(
    Object.entries({ ...fine, ...changes }).filter(([, value]) => value !== undefined),
  );
  let thrown: unknown;
  try {
    createJobsTaskProvider(given as unknown as JobsTaskProviderOptions);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject({ code: "invalid-options", phase: "create" });
  const { cause } = thrown as { cause: Error };
  expect(cause.message).toContain(message);
  expect(cause.message).not.toContain("secret");
});
