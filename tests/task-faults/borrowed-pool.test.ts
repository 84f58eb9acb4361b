import { expect, test } from "bun:test";
import { SQL } from "bun";
import pg from "pg";
import { createTaskQueue } from "../../tasks/index.ts";
import { afterTestFile } from "../support/after-test-file.ts";
import { entriesOf } from "./support/audit.ts";
import { eventually } from "./support/eventually.ts";
import { faultDatabase } from "./support/fault-database.ts";
import { faultTasks, openRecorder } from "./support/fault-tasks.ts";
import { openProviders, type ProviderKind } from "./support/open-provider.ts";

const url = await faultDatabase();
const sql = new SQL(url, { max: 2 });
afterTestFile(() => sql.close());

/** How many connections the pool has, and as many handlers hold one each. */
const size = 5;

interface LentPool {
  readonly pool: object;
  hold(): Promise<{ release(): void }>;
  end(): Promise<void>;
}

const lenders: Record<"pg.Pool" | "Bun.SQL", () => LentPool> = {
  "pg.Pool"() {
    const pool = new pg.Pool({ connectionString: url, max: size });
    return { pool, hold: () => pool.connect(), end: () => pool.end() };
  },
  "Bun.SQL"() {
    const pool = new SQL(url, { max: size });
    return { pool, hold: () => pool.reserve(), end: () => pool.close() };
  },
};

/** The job's claim has been renewed, in the database's own evidence. */
async function renewed(kind: ProviderKind, jobId: string, leaseSeconds: number): Promise<boolean> {
  const [row] =
    kind === "pg-boss"
      ? await sql`select heartbeat_on > started_on + interval '5 seconds' as renewed from pgboss.job where id = ${jobId}::uuid`
      : await sql`select lease_until > (select now() + make_interval(secs => ${leaseSeconds / 2})) and recorded_at < now() - make_interval(secs => ${1.5 * leaseSeconds}) as renewed
          from tasks.task where id = ${jobId}::uuid and state = 'running'`;
  return row?.renewed === true;
}

test.concurrent.each([
  ["pg-boss", "pg.Pool"],
  ["lenso.jobs@1", "pg.Pool"],
  ["lenso.jobs@1", "Bun.SQL"],
] as const)(
  "%s: handlers that hold every connection of a lent %s keep their claims, and end in their first attempt",
  async (kind, lender) => {
    const queueName = `lent-${lender}`;
    const leaseSeconds = 4;
    const lent = lenders[lender]();
    const errors: unknown[] = [];
    await using providers = await openProviders({
      kind,
      url,
      queues: [queueName],
      leaseSeconds,
      onError: (error) => errors.push(error),
    });
    const recorder = openRecorder(url, queueName);
    const enough = Promise.withResolvers<void>();
    let held = 0;
    const tasks = faultTasks(async (context) => {
      await recorder.note(context, 0);
      const connection = await lent.hold();
      held += 1;
      await enough.promise;
      connection.release();
      return "done";
    });
    const provider = providers.open(queueName, { pool: lent.pool as never });
    const queue = createTaskQueue({ provider, tasks: [tasks.many, tasks.once] });
    const ids = await Promise.all(Array.from({ length: size }, (_, n) => queue.enqueue(tasks.once, n)));
    queue.startWorker({ concurrency: size });
    await eventually("every connection to be held", async () => held === size);
    await eventually("every claim to be renewed", async () => {
      const all = await Promise.all(ids.map((jobId) => renewed(kind, jobId, leaseSeconds)));
      return all.every(Boolean);
    });
    enough.resolve();
    for (const jobId of ids) {
      await eventually("the job to succeed", async () => (await queue.get(jobId))?.state === "succeeded");
      expect(await entriesOf(sql, jobId)).toEqual([{ attempt: 1, pid: process.pid }]);
    }
    expect(errors).toEqual([]);
    await queue.close();
    await recorder.close();
    await lent.end();
  },
  120_000,
);
