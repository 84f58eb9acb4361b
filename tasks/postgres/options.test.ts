import { expect, test } from "bun:test";
import { SQL } from "bun";
import pg from "pg";
import { createPostgresTaskProvider, migratePostgresTaskQueue } from "./index.ts";

const connectionString = "postgres://user:hunter2@localhost:1/shop";

/** Code and cause of the refusal. */
function refusal(options: unknown): { code: unknown; cause: string } {
  try {
    createPostgresTaskProvider(options as Parameters<typeof createPostgresTaskProvider>[0]);
  } catch (error) {
    const { code, cause } = error as { code: unknown; cause: Error };
    return { code, cause: cause.message };
  }
  throw new Error("not refused");
}

test.each([
  [{ connectionString }, "queueName"],
  [{ queueName: "", connectionString }, "queueName"],
  [{ queueName: "a b", connectionString }, "queueName"],
  [{ queueName: "a';--", connectionString }, "queueName"],
  [{ queueName: "é", connectionString }, "queueName"],
  [{ queueName: "__pgboss__x", connectionString }, "queueName"],
  [{ queueName: "q".repeat(129), connectionString }, "queueName"],
  [{ queueName: "q" }, "exactly one"],
  [{ queueName: "q", connectionString, pool: new pg.Pool() }, "exactly one"],
  [{ queueName: "q", pool: new SQL(connectionString) }, "pool"],
  [{ queueName: "q", pool: {} }, "pool"],
  [{ queueName: "q", connectionString: "mysql://hunter2@localhost/x" }, "connectionString"],
  [{ queueName: "q", connectionString, schema: "public" }, "schema"],
  [{ queueName: "q", connectionString, schema: "Jobs" }, "schema"],
  [{ queueName: "q", connectionString, schema: 'a"b' }, "schema"],
  [{ queueName: "q", connectionString, schema: "pg_jobs" }, "schema"],
  [{ queueName: "q", connectionString, schema: "s".repeat(64) }, "schema"],
  [{ queueName: "q", connectionString, heartbeatSeconds: 9 }, "heartbeatSeconds"],
  [{ queueName: "q", connectionString, heartbeatSeconds: 10.5 }, "heartbeatSeconds"],
  [{ queueName: "q", connectionString, pollIntervalMs: 0 }, "pollIntervalMs"],
  [{ queueName: "q", connectionString, expireInSeconds: 0 }, "expireInSeconds"],
  [{ queueName: "q", connectionString, retentionSeconds: Number.NaN }, "retentionSeconds"],
  [{ queueName: "q", connectionString, superviseIntervalSeconds: "30" }, "superviseIntervalSeconds"],
  [{ queueName: "q", connectionString, onError: true }, "onError"],
  [{ queueName: "q", connectionString, concurrency: 5 }, "concurrency"],
])("refused with the key, and without the connection string: %#", (options, key) => {
  const { code, cause } = refusal(options);
  expect(code).toBe("invalid-options");
  expect(cause).toContain(key);
  expect(cause).not.toContain("hunter2");
});

test("the message says what was expected and what arrived", () => {
  expect(refusal({ queueName: "q", connectionString, heartbeatSeconds: 9 }).cause).toBe(
    "heartbeatSeconds: expected an integer 10..86400, got 9",
  );
});

test("what is right is taken, and nothing is connected", async () => {
  const provider = createPostgresTaskProvider({ queueName: "a/b.c-d_1", connectionString, schema: "select" });
  await provider.close();
});

test("the migration takes the provider's options and refuses what it refuses", async () => {
  const refused = migratePostgresTaskQueue({ connectionString: "nowhere" });
  expect(refused).rejects.toMatchObject({ code: "invalid-options", phase: "migrate" });
  await refused.catch(() => {});
});
