import { expect, test } from "bun:test";
import { SQL } from "bun";
import { createTaskQueue, type TaskLogger } from "../../tasks/index.ts";
import { afterTestFile } from "../support/after-test-file.ts";
import { auditQueue, expectEachEndedOnce } from "./support/audit.ts";
import { eventually } from "./support/eventually.ts";
import { faultDatabase } from "./support/fault-database.ts";
import { faultTasks } from "./support/fault-tasks.ts";
import {
  type OpenProvidersOptions,
  openProviders,
  type ProviderKind,
  providerKinds,
} from "./support/open-provider.ts";

const url = await faultDatabase();
const sql = new SQL(url, { max: 4 });
afterTestFile(() => sql.close());

const queues = providerKinds.flatMap((kind) =>
  ["full", "race", "deleted", "hooks", "foreign"].map((what) => nameOf(kind, what)),
);
function nameOf(kind: ProviderKind, what: string): string {
  return `${what}-${providerKinds.indexOf(kind)}`;
}
const open = (kind: ProviderKind, options: Partial<OpenProvidersOptions> = {}) =>
  openProviders({ kind, url, queues, frugal: true, ...options });

/** So long that a test would fail that waited for it. */
const neverPoll = { pollIntervalMs: 60_000 };
/** A poll comes up to a fifth sooner than its interval. */
const soonerThanAPoll = 40_000;
/** pg-boss's supervisor wakes workers too; here it must not help. */
const noHelp = (kind: ProviderKind) =>
  kind === "pg-boss" ? { ...neverPoll, superviseIntervalSeconds: 3600 } : neverPoll;

test.each(providerKinds)(
  "%s: a worker goes on at once after a full claim, without wake-ups and without waiting for its next poll",
  async (kind) => {
    await using providers = await open(kind, { signals: false });
    const name = nameOf(kind, "full");
    const tasks = faultTasks(() => Bun.sleep(5));
    const queue = createTaskQueue({ provider: providers.open(name, noHelp(kind)), tasks: [tasks.many] });
    await Promise.all(Array.from({ length: 120 }, (_, n) => queue.enqueue(tasks.many, n)));
    const worker = queue.startWorker({ concurrency: 8 });
    await eventually(
      "all jobs",
      async () => (await auditQueue(sql, name)).last["succeeded"] === 120,
      soonerThanAPoll,
    );
    await worker.stop();
    await queue.close();
  },
  120_000,
);

test.each(providerKinds)(
  "%s: two workers that race for each job: who loses is not slowed down, and nobody is told of an error",
  async (kind) => {
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    await using one = await open(kind, { onError });
    await using two = await open(kind, { onError });
    const name = nameOf(kind, "race");
    const runs: string[] = [];
    const tasks = faultTasks(async ({ jobId }) => void runs.push(jobId));
    const workers = [one, two].map((providers) =>
      createTaskQueue({ provider: providers.open(name, noHelp(kind)), tasks: [tasks.many] }),
    );
    for (const queue of workers) queue.startWorker({ concurrency: 2 });
    const [producer] = workers as [(typeof workers)[number]];
    for (let n = 0; n < 25; n += 1) {
      const jobId = await producer.enqueue(tasks.many, n);
      await eventually(
        `job ${n}`,
        async () => (await producer.get(jobId))?.state === "succeeded",
        soonerThanAPoll,
      );
    }
    for (const queue of workers) await queue.close();
    expect(runs).toHaveLength(25);
    expect(errors).toEqual([]);
    await expectEachEndedOnce(sql, name, 25);
  },
  120_000,
);

test.each(providerKinds)(
  "%s: a job that is deleted while it runs with others: its end is lost and told, theirs are recorded",
  async (kind) => {
    const errors: unknown[] = [];
    await using providers = await open(kind, { onError: (error) => errors.push(error) });
    const name = nameOf(kind, "deleted");
    const entered = new Set<string>();
    const gate = Promise.withResolvers<void>();
    const tasks = faultTasks(({ jobId }) => {
      entered.add(jobId);
      return gate.promise;
    });
    const queue = createTaskQueue({ provider: providers.open(name), tasks: [tasks.many] });
    const ids = await Promise.all([1, 2, 3].map((n) => queue.enqueue(tasks.many, n)));
    const worker = queue.startWorker({ concurrency: 3 });
    await eventually("all three", async () => entered.size === 3);
    if (kind === "pg-boss") await sql`delete from pgboss.job where id = ${ids[1]}::uuid`;
    else await sql`delete from tasks.task where id = ${ids[1]}::uuid`;
    gate.resolve();
    const states = async () => Promise.all(ids.map(async (jobId) => (await queue.get(jobId))?.state));
    await eventually("the others", async () => String(await states()) === "succeeded,,succeeded");
    await worker.stop();
    expect(errors.map(String)).toEqual([expect.stringContaining(`of job ${String(ids[1])}: its claim`)]);
    await queue.close();
  },
  120_000,
);

test.each(providerKinds)(
  "%s: a logger and an onError that throw, at once or later, change nothing",
  async (kind) => {
    let told = 0;
    const hook = (): void => {
      told += 1;
      if (told % 2 === 0) throw new Error("a hook");
      return Promise.reject(new Error("a hook, later")) as unknown as void;
    };
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    await using providers = await open(kind, { onError: hook });
    const name = nameOf(kind, "hooks");
    const logger: TaskLogger = { info: hook, warn: hook, error: hook };
    const tasks = faultTasks(({ attempt }) =>
      attempt < 3 ? Promise.reject(new Error("told to fail")) : Bun.sleep(1),
    );
    const queue = createTaskQueue({ provider: providers.open(name), tasks: [tasks.many], logger });
    await Promise.all(Array.from({ length: 40 }, (_, n) => queue.enqueue(tasks.many, n)));
    queue.startWorker({ concurrency: 8 });
    await eventually("all jobs", async () => (await auditQueue(sql, name)).last["succeeded"] === 40);
    await queue.close();
    process.off("unhandledRejection", note);
    expect(told).toBeGreaterThanOrEqual(80);
    expect(unhandled).toEqual([]);
    await expectEachEndedOnce(sql, name, 40);
  },
  120_000,
);

test("pg-boss: what others put into the queue is claimed with our jobs and stops none of them", async () => {
  await using providers = await open("pg-boss");
  const name = nameOf("pg-boss", "foreign");
  const tasks = faultTasks(async () => null);
  const queue = createTaskQueue({ provider: providers.open(name), tasks: [tasks.many] });
  await queue.identity(); // makes the queue
  for (const data of ["null", '"text"', "[]", '{"task":7}', '{"task":"other","input":{}}'])
    await sql`insert into pgboss.job (name, data, retry_limit) values (${name}, ${data}::text::jsonb, 1)`;
  const ids = await Promise.all([1, 2, 3].map((n) => queue.enqueue(tasks.many, n)));
  const worker = queue.startWorker({ concurrency: 10 });
  for (const jobId of ids)
    await eventually("our jobs", async () => (await queue.get(jobId))?.state === "succeeded");
  await eventually("the others to fail", async () => {
    const [row] =
      await sql`select count(*)::int as failed from pgboss.job where name = ${name} and state = 'failed'`;
    return row.failed === 5;
  });
  await worker.stop();
  await queue.close();
});

test("pg-boss: with a stale plan of nested loops a claim takes exactly as many jobs as were asked for", async () => {
  const stale = await faultDatabase();
  await using admin = new SQL(stale, { max: 1 });
  await using providers = await openProviders({ kind: "pg-boss", url: stale, queues: ["stale"] });
  let entered = 0;
  const gate = Promise.withResolvers<void>();
  const tasks = faultTasks(() => {
    entered += 1;
    return gate.promise;
  });
  const producer = createTaskQueue({ provider: providers.open("stale"), tasks: [tasks.many] });
  for (let n = 0; n < 10; n += 1) await producer.enqueue(tasks.many, n);
  await admin.unsafe("alter table pgboss.job_common set (autovacuum_enabled = off)");
  await admin.unsafe("analyze pgboss.job");
  const database = new URL(stale).pathname.slice(1);
  for (const off of ["hashjoin", "mergejoin", "material", "hashagg"])
    await admin.unsafe(`alter database "${database}" set enable_${off} = off`);
  await admin.unsafe("alter table pgboss.job disable trigger fault");
  await admin`
    insert into pgboss.job (name, data) select 'stale', '{"task":"many","input":null,"maxAttempts":20}'::jsonb
    from generate_series(1, 20000)`;
  await using fresh = await openProviders({ kind: "pg-boss", url: stale, queues: ["stale"] });
  const queue = createTaskQueue({ provider: fresh.open("stale"), tasks: [tasks.many] });
  const worker = queue.startWorker({ concurrency: 5 });
  await eventually("five handlers", async () => entered === 5);
  const [row] = await admin`
    select count(*)::int as claimed from pgboss.job where name = 'stale' and (state <> 'created' or started_on is not null)`;
  expect(row.claimed).toBe(5);
  const stopped = worker.stop();
  gate.resolve();
  await stopped;
  await queue.close();
  await producer.close();
}, 120_000);
