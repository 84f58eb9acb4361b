import { expect, test } from "bun:test";
import { SQL } from "bun";
import {
  type OperatorDatabase,
  operatorDatabase,
  urlAs,
} from "../../plugin/operator/testing/operator-database.ts";
import { createJobsTaskProvider } from "./create-jobs-task-provider.ts";
import { migrateJobsTaskQueue } from "./migration/migrate-jobs-task-queue.ts";
import { newTask, workAll } from "./testing/given.ts";
import { openTaskWorld } from "./testing/task-world.ts";

/** The role's answer to a statement: "allowed", or its SQLSTATE. */
async function tryAs(query: OperatorDatabase["query"], url: string, statement: string): Promise<string> {
  return query(statement, url).then(
    () => "allowed",
    (error: unknown) => (error instanceof SQL.PostgresError ? String(error.errno) : String(error)),
  );
}

test("a runtime role works a queue from enqueue to prune", async () => {
  await using world = await openTaskWorld();
  const { query, createRole } = await operatorDatabase();
  const role = await createRole();
  const url = urlAs(role, world.url);
  await query(`grant all on schema tasks to ${role.quoted}`, world.url);
  await migrateJobsTaskQueue({ connectionString: world.url, runtimeRole: role.name });

  const provider = createJobsTaskProvider({
    jobs: world.client(),
    queue: "tasks",
    leaseSeconds: 30,
    connectionString: url.href,
    retentionSeconds: 3600, // longer than any pause of a busy machine
  });
  const deduplicationKey = "order/1";
  const cancelled = await provider.enqueue(newTask({ runAt: new Date(Date.now() + 3_600_000) }));
  const jobId = await provider.enqueue(newTask({ deduplicationKey, maxAttempts: 1 }));
  expect(await provider.enqueue(newTask({ deduplicationKey, maxAttempts: 1 }))).toBe(jobId);
  expect(await provider.cancel(cancelled)).toBe("cancelled");
  const failing = async () => ({ ok: false, error: "handler-failed", final: false }) as const;
  await provider.startWorker(failing, { concurrency: 1, maxJobs: 5 }).done;
  expect(await provider.retry(jobId)).toBe(true);
  expect(await workAll(provider)).toEqual([jobId]);
  expect(await provider.get(jobId)).toMatchObject({ state: "succeeded", attempt: 2 });
  expect(await provider.list?.({ tasks: ["greet"], limit: 10 })).toMatchObject({ jobs: { length: 2 } });
  expect(await provider.lookupDeduplicationKey?.(deduplicationKey)).toMatchObject({ jobId });
  expect((await provider.identity?.())?.kind).toBe("lenso.jobs@1");
  await world.advance(10);
  await world.sql`update task set finished_at = finished_at - interval '1 day'`;
  await workAll(provider); // a worker sweeps before its first claim
  expect(await provider.get(jobId)).toBeNull();
  await provider.close();

  for (const statement of forbidden)
    expect([statement, await tryAs(query, url.href, statement)]).toEqual([statement, "42501"]);
  await query(`drop owned by ${role.quoted}`, world.url);
});

test("a role that is missing, mighty or misnamed is refused, and nothing is installed", async () => {
  const { url, query, createRole } = await operatorDatabase();
  const owner = await createRole();
  const database = decodeURIComponent(new URL(url).pathname.slice(1));
  await query(`grant create on database "${database}" to ${owner.quoted}`);
  for (const [runtimeRole, said] of [
    ["nobody_here", "does not exist"],
    [owner.name, "needs no grants"],
    ["postgres", "needs no grants"],
    ["public", "expected a role name"],
    ["a\nb", "expected a role name"],
    [`x"; drop schema tasks; --`, "does not exist"],
  ] as const) {
    const refused = migrateJobsTaskQueue({ connectionString: owner.url, runtimeRole });
    await expect(refused).rejects.toMatchObject({
      code: "invalid-options",
      cause: { message: expect.stringContaining(said) },
    });
  }
  expect(await query("select from pg_namespace where nspname = 'tasks'")).toHaveLength(0);
});

test("a role without rights is told what gives them", async () => {
  await using world = await openTaskWorld();
  const { query, createRole } = await operatorDatabase();
  const role = await createRole();
  const url = urlAs(role, world.url);
  await query(`grant connect on database "${url.pathname.slice(1)}" to ${role.quoted}`, world.url);
  const provider = createJobsTaskProvider({
    jobs: world.client(),
    queue: "tasks",
    leaseSeconds: 30,
    connectionString: url.href,
  });
  await expect(provider.enqueue(newTask())).rejects.toMatchObject({
    code: "provider-unavailable",
    message: expect.stringContaining(
      "(42501): run migrateJobsTaskQueue with the provider's role as runtimeRole",
    ),
  });
  await provider.close();
  await query(`drop owned by ${role.quoted}`, world.url);
});

const forbidden = [
  "drop table tasks.task",
  "drop schema tasks cascade",
  "create table tasks.extra (id int)",
  "alter table tasks.task add column extra int",
  "truncate tasks.task",
  "truncate tasks.deduplication_key",
  "update tasks.task set input = '{}'",
  "update tasks.task set task = 'other'",
  "update tasks.task set queue = 'other'",
  "update tasks.task set id = gen_random_uuid()",
  "update tasks.task set retry_delay = 0",
  "update tasks.deduplication_key set task_id = gen_random_uuid()",
  "delete from tasks.deduplication_key",
  "update tasks.queue set id = gen_random_uuid()",
  "delete from tasks.queue",
  "insert into tasks.lenso_tasks_ledger values (2, 'x', repeat('0', 64), 1)",
  "update tasks.lenso_tasks_ledger set oldest_build = 1",
  "delete from tasks.lenso_tasks_marker",
  "create index on tasks.task (id)",
  "create trigger t before insert on tasks.task for each row execute function suppress_redundant_updates_trigger()",
];
