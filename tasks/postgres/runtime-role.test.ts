import { expect, test } from "bun:test";
import { SQL } from "bun";
import { operatorDatabase } from "../../plugin/operator/testing/operator-database.ts";
import { createPostgresTaskProvider } from "./create-postgres-task-provider.ts";
import { migratePostgresTaskQueue } from "./migrate-postgres-task-queue.ts";
import { checkProviderOptions } from "./options.ts";
import { connectQueue } from "./queue.ts";
import { superviseOnce } from "./supervise.ts";

test("a role with the grants that the migration names works a queue, and can change no table", async () => {
  const { url, query, createRole } = await operatorDatabase();
  const role = await createRole();
  await migratePostgresTaskQueue({ connectionString: url, queueName: "as-a-role" });
  await query(`grant usage on schema pgboss to ${role.quoted}`);
  await query(`grant select, insert, update, delete on all tables in schema pgboss to ${role.quoted}`);

  const settings = { connectionString: role.url, queueName: "as-a-role", retentionSeconds: 1 };
  const provider = createPostgresTaskProvider(settings);
  const request = { task: "t", input: 1, maxAttempts: 1 };
  const jobId = await provider.enqueue({ ...request, deduplicationKey: "k" });
  const cancelled = await provider.enqueue({ ...request, runAt: new Date(Date.now() + 3_600_000) });
  expect(await provider.cancel(cancelled)).toBe("cancelled");
  const failing = async () => ({ ok: false, error: "handler-failed", final: false }) as const;
  await provider.startWorker(failing, { concurrency: 1, maxJobs: 5 }).done;
  expect(await provider.retry(jobId)).toBe(true);
  const cancelling = async () => {
    expect(await provider.cancel(jobId)).toBe("requested");
    return { ok: true, result: null } as const;
  };
  await provider.startWorker(cancelling, { concurrency: 1, maxJobs: 5 }).done;
  expect(await provider.get(jobId)).toMatchObject({ state: "cancelled", attempt: 2 });
  expect((await provider.list({ tasks: ["t"], limit: 10 })).jobs).toHaveLength(2);
  expect((await provider.identity()).kind).toBe("postgres");

  await query("update pgboss.job set completed_on = completed_on - interval '1 year'");
  await query("update pgboss.queue set monitor_claim_on = null, monitor_on = null, maintain_on = null");
  const connection = connectQueue(checkProviderOptions(settings));
  await superviseOnce(await connection.ready());
  await connection.close();
  expect(await provider.get(jobId)).toBeNull();
  expect(await provider.lookupDeduplicationKey("k")).toEqual({ jobId, status: null });
  await provider.close();

  for (const statement of forbidden) {
    const refused: unknown = await query(statement, role.url).catch((error: unknown) => error);
    expect({ statement, refused: refused instanceof SQL.PostgresError && refused.errno }).toEqual({
      statement,
      refused: "42501",
    });
  }
  await query(`drop owned by ${role.quoted}`);
});

const forbidden = [
  "create table pgboss.extra (id int)",
  "drop table pgboss.lenso_task_key",
  "alter table pgboss.lenso_task_key add column extra int",
  "truncate pgboss.lenso_task_key",
  "truncate pgboss.job_common",
  "create index on pgboss.job_common (id)",
];
