import { expect, test } from "bun:test";
import { SQL } from "bun";
import { testDatabase } from "../../tests/support/test-database.ts";
import { createPostgresTaskProvider, migratePostgresTaskQueue } from "./index.ts";

async function withSql<T>(url: string, work: (sql: SQL) => Promise<T>): Promise<T> {
  const sql = new SQL(url, { max: 1 });
  try {
    return await work(sql);
  } finally {
    await sql.close();
  }
}

/** Everything that DDL leaves behind, as one text. */
function catalogue(url: string): Promise<string> {
  return withSql(url, async (sql) => {
    const rows = await sql`
      SELECT n.nspname, c.relname, c.relkind, c.oid::text, a.attname, a.atttypid::text
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
      WHERE n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' ORDER BY 1, 2, 5`;
    return JSON.stringify(rows);
  });
}

const request = { task: "t", input: 1, maxAttempts: 1 };

async function causeOf(promise: Promise<unknown>): Promise<{ code: unknown; cause: string }> {
  try {
    await promise;
  } catch (error) {
    const { code, cause } = error as { code: unknown; cause: Error };
    return { code, cause: cause.message };
  }
  throw new Error("did not reject");
}

test("sixteen at once on an empty database all succeed, and the queue works", async () => {
  const { url } = await testDatabase();
  const options = { connectionString: url, queueName: "q" };
  await Promise.all(Array.from({ length: 16 }, () => migratePostgresTaskQueue(options)));
  const provider = createPostgresTaskProvider(options);
  expect(await provider.get(await provider.enqueue(request))).toMatchObject({ state: "pending" });
  await provider.close();
});

test("once more changes nothing", async () => {
  const { url } = await testDatabase();
  await migratePostgresTaskQueue({ connectionString: url, queueName: "q" });
  const before = await catalogue(url);
  const provider = createPostgresTaskProvider({ connectionString: url, queueName: "q" });
  const identity = await provider.identity();
  await migratePostgresTaskQueue({ connectionString: url, queueName: "q" });
  expect(await catalogue(url)).toBe(before);
  expect(await provider.identity()).toEqual(identity);
  await provider.close();
});

test("a database that is in use, and a schema that exists already, keep what they hold", async () => {
  const { url } = await testDatabase();
  await withSql(url, async (sql) => {
    await sql`CREATE SCHEMA "order"`;
    await sql`CREATE TABLE "order".kept AS SELECT 1 AS n`;
  });
  await migratePostgresTaskQueue({ connectionString: url, schema: "order", queueName: "q" });
  await withSql(url, async (sql) => expect(await sql`SELECT n FROM "order".kept`).toHaveLength(1));
  const provider = createPostgresTaskProvider({ connectionString: url, schema: "order", queueName: "q" });
  expect(await provider.enqueue(request)).toBeString();
  await provider.close();
});

test("an empty database: every call and a worker say which command to run, and nothing is made", async () => {
  const { url } = await testDatabase();
  const before = await catalogue(url);
  const provider = createPostgresTaskProvider({ connectionString: url, queueName: "q" });
  for (const call of [provider.enqueue(request), provider.identity()]) {
    const { code, cause } = await causeOf(call);
    expect(code).toBe("invalid-options");
    expect(cause).toContain("migratePostgresTaskQueue");
  }
  const worker = provider.startWorker(async () => ({ ok: true, result: null }), { concurrency: 1 });
  const { code, cause } = await causeOf(worker.done);
  expect(code).toBe("invalid-options");
  expect(cause).toContain("migratePostgresTaskQueue");
  await provider.close();
  expect(await catalogue(url)).toBe(before);
});

test("pg-boss alone, an older and a newer schema are refused, each with its remedy", async () => {
  const { url } = await testDatabase();
  await migratePostgresTaskQueue({ connectionString: url, queueName: "q" });
  const firstAnswer = async (): Promise<string> => {
    const provider = createPostgresTaskProvider({ connectionString: url, queueName: "q" });
    const { cause } = await causeOf(provider.identity());
    await provider.close();
    return cause;
  };
  await withSql(url, (sql) => sql`UPDATE pgboss.version SET version = version - 1`.execute());
  expect(await firstAnswer()).toContain("migratePostgresTaskQueue");
  await withSql(url, (sql) => sql`UPDATE pgboss.version SET version = version + 1`.execute());
  await withSql(url, (sql) => sql`UPDATE pgboss.lenso_task_meta SET version = 0`.execute());
  expect(await firstAnswer()).toMatch(/at step 0.*migratePostgresTaskQueue/);
  await withSql(url, (sql) => sql`UPDATE pgboss.lenso_task_meta SET version = 9, oldest = 9`.execute());
  expect(await firstAnswer()).toMatch(/from step 9.*update/);
  await withSql(url, (sql) => sql`UPDATE pgboss.lenso_task_meta SET version = 9, oldest = 1`.execute());
  const provider = createPostgresTaskProvider({ connectionString: url, queueName: "q" });
  expect((await provider.identity()).kind).toBe("postgres"); // a newer schema that still takes this release
  await provider.close();
});

test("a queue that the migration has not made is refused at enqueue and by a worker, by name, and is not made", async () => {
  const { url } = await testDatabase();
  await migratePostgresTaskQueue({ connectionString: url, queueName: "shop" });
  const provider = createPostgresTaskProvider({ connectionString: url, queueName: "shopp" });
  const worker = provider.startWorker(async () => ({ ok: true, result: null }), { concurrency: 1 });
  for (const refused of [provider.enqueue(request), provider.identity(), worker.done]) {
    const { code, cause } = await causeOf(refused);
    expect(code).toBe("invalid-options");
    expect(cause).toContain('no queue "shopp" (it has "shop")');
    expect(cause).toContain('migratePostgresTaskQueue({ queueName: "shopp"');
  }
  await withSql(url, async (sql) => {
    expect(await sql`SELECT name FROM pgboss.queue WHERE name = 'shopp'`).toHaveLength(0);
    expect(await sql`SELECT queue FROM pgboss.lenso_task_queue`).toHaveLength(1);
  });
  await migratePostgresTaskQueue({ connectionString: url, queueName: "shopp" });
  expect(await provider.enqueue(request)).toBeString(); // the same provider, from the next call on
  await provider.close();
});

test("a role without rights is told which ones it lacks, and a server that is away where it should be", async () => {
  const { url, name } = await testDatabase();
  await migratePostgresTaskQueue({ connectionString: url, queueName: "q" });
  await withSql(url, (sql) => sql.unsafe(`CREATE ROLE "${name}" LOGIN PASSWORD 'pw'`));
  const limited = new URL(url);
  [limited.username, limited.password] = [name, "pw"];
  const away = new URL(url);
  away.port = "1";
  const answers = [];
  for (const connectionString of [limited.href, away.href]) {
    const provider = createPostgresTaskProvider({ connectionString, queueName: "q" });
    answers.push(await provider.enqueue(request).catch((error: Error) => error.message));
    await provider.close();
  }
  await withSql(url, (sql) => sql.unsafe(`DROP ROLE "${name}"`));
  expect(answers[0]).toContain('(42501): grant usage on schema "pgboss"');
  expect(answers[1]).toContain(
    `the database ${away.hostname}:1${away.pathname} cannot be reached (ECONNREFUSED)`,
  );
});

test("a role that may change rows but no schema can do everything but migrate", async () => {
  const { url, name } = await testDatabase();
  await migratePostgresTaskQueue({ connectionString: url, queueName: "q" });
  await withSql(url, async (sql) => {
    await sql.unsafe(`
      CREATE ROLE "${name}" LOGIN PASSWORD 'pw';
      GRANT USAGE ON SCHEMA pgboss TO "${name}";
      GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgboss TO "${name}";
      GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgboss TO "${name}"`);
  });
  const limited = new URL(url);
  limited.username = name;
  limited.password = "pw";
  const before = await catalogue(url);
  const errors: unknown[] = [];
  const provider = createPostgresTaskProvider({
    connectionString: limited.href,
    queueName: "q",
    onError: (error) => errors.push(error),
  });
  try {
    const jobId = await provider.enqueue({ ...request, deduplicationKey: "k" });
    await provider.startWorker(async () => ({ ok: true, result: 1 }), { concurrency: 1, maxJobs: 1 }).done;
    expect(await provider.get(jobId)).toMatchObject({ state: "succeeded", result: 1 });
    expect(errors).toEqual([]);
    expect(await catalogue(url)).toBe(before);
    const { code } = await causeOf(
      migratePostgresTaskQueue({ connectionString: limited.href, schema: "other" }),
    );
    expect(code).toBe("provider-unavailable");
  } finally {
    await provider.close();
    await withSql(url, (sql) => sql.unsafe(`DROP OWNED BY "${name}"; DROP ROLE "${name}"`));
  }
});
