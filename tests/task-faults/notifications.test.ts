import { expect, test } from "bun:test";
import { SQL } from "bun";
import pg from "pg";
import { wakeChannel } from "../../plugin/store/wake/wake-channel.ts";
import { createTaskQueue } from "../../tasks/index.ts";
import { migratePostgresTaskQueue } from "../../tasks/postgres/index.ts";
import { checkProviderOptions } from "../../tasks/postgres/options.ts";
import { connectQueue } from "../../tasks/postgres/queue.ts";
import { afterTestFile } from "../support/after-test-file.ts";
import { eventually } from "./support/eventually.ts";
import { faultDatabase } from "./support/fault-database.ts";
import { faultTasks } from "./support/fault-tasks.ts";
import { openProviders, type ProviderKind, providerKinds } from "./support/open-provider.ts";

/** The longest name that both providers take. */
const longest = "q".repeat(128);
const queues = [longest, "many", "later", "idle"];

const tasks = faultTasks(async () => null);

interface Channel extends AsyncDisposable {
  readonly url: string;
  /** Payloads of the notifications of jobs so far. */
  readonly heard: readonly string[];
}

/** A database of its own, and somebody who hears what the provider's channel says in it. */
async function listenIn(kind: ProviderKind): Promise<Channel> {
  const url = await faultDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const heard: string[] = [];
  client.on("notification", ({ payload = "" }) => {
    if (!isRegistration(payload)) heard.push(payload);
  });
  await client.query(`listen "${await channelOf(kind, url)}"`);
  return { url, heard, [Symbol.asyncDispose]: () => client.end() };
}

/** What a waiting Jobs Instance says to itself, to know that its listener lives. */
const isRegistration = (payload: string): boolean => /^[0-9a-f]{8}-/.test(payload);

async function channelOf(kind: ProviderKind, connectionString: string): Promise<string> {
  if (kind === "lenso.jobs@1") return wakeChannel("jobs");
  await migratePostgresTaskQueue({ connectionString, queueName: "idle" });
  const connection = connectQueue(checkProviderOptions({ queueName: "idle", connectionString }));
  const { channel } = await connection.ready();
  await connection.close();
  return channel;
}

/** The registration of a worker that waits in another process: only then does a Jobs Instance notify at all. */
async function letSomebodyWait(kind: ProviderKind, url: string): Promise<void> {
  if (kind === "pg-boss") return;
  await using sql = new SQL(url, { max: 1 });
  const providers = await openProviders({ kind, url, queues, frugal: true });
  const workers = queues.map((name) =>
    createTaskQueue({ provider: providers.open(name), tasks: [tasks.many] }),
  );
  for (const queue of workers) queue.startWorker();
  await eventually("the registrations", async () => {
    const [row] = await sql`select count(*)::int as waiting from jobs.waiter`;
    return row.waiting === queues.length;
  });
  afterTestFile(async () => {
    for (const queue of workers) await queue.close();
    await providers.close();
  });
}

test.each(providerKinds)(
  "%s: the largest inputs in a queue of the longest name, in a caller's transaction, notify by a short text",
  async (kind) => {
    await using channel = await listenIn(kind);
    await letSomebodyWait(kind, channel.url);
    await using providers = await openProviders({ kind, url: channel.url, queues, frugal: true });
    const queue = createTaskQueue({ provider: providers.open(longest), tasks: [tasks.many] });
    const client = new pg.Client({ connectionString: channel.url });
    await client.connect();
    // A worker that waits may find the records itself before it is told; then it takes another transaction.
    while (channel.heard.length === 0) {
      await client.query("begin");
      const ids: string[] = [];
      for (let n = 0; n < 10; n += 1)
        ids.push(await queue.enqueue(tasks.many, "é".repeat(32_000), { transaction: client }));
      await client.query("commit");
      const jobs = () => Promise.all(ids.map((jobId) => queue.get(jobId)));
      expect(await jobs()).not.toContain(null);
      await eventually(
        "a notification, or a worker that did without",
        async () => channel.heard.length > 0 || (await jobs()).every((job) => job?.state === "succeeded"),
      );
    }
    await client.end();
    for (const payload of channel.heard) expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(128);
    await queue.close();
  },
  120_000,
);

test.each(providerKinds)(
  "%s: producers that enqueue at once share notifications, and jobs for later send none",
  async (kind) => {
    await using channel = await listenIn(kind);
    await letSomebodyWait(kind, channel.url);
    await using providers = await openProviders({ kind, url: channel.url, queues, frugal: true });
    const many = createTaskQueue({ provider: providers.open("many"), tasks: [tasks.many] });
    const later = createTaskQueue({ provider: providers.open("later"), tasks: [tasks.many] });
    const tomorrow = { runAt: new Date(Date.now() + 86_400_000) };
    await later.identity();
    await many.identity();
    await Promise.all(Array.from({ length: 20 }, (_, n) => later.enqueue(tasks.many, n, tomorrow)));
    await many.enqueue(tasks.many, "due");
    await eventually("a notification", async () => channel.heard.length > 0); // they come in the order of the commits
    expect(channel.heard).toHaveLength(1);
    await Promise.all(Array.from({ length: 64 }, (_, n) => many.enqueue(tasks.many, n)));
    await many.enqueue(tasks.many, "last");
    await eventually("the others", async () => channel.heard.length > 2);
    expect(channel.heard.length).toBeLessThan(32);
    await many.close();
    await later.close();
  },
  120_000,
);

test.each(providerKinds)(
  "%s: a worker's listener never holds a transaction",
  async (kind) => {
    const url = await faultDatabase();
    await using sql = new SQL(url, { max: 1 });
    await using providers = await openProviders({ kind, url, queues, frugal: true });
    const queue = createTaskQueue({ provider: providers.open("idle"), tasks: [tasks.many] });
    queue.startWorker({ concurrency: 4 });
    const listeners = async (): Promise<{ state: string; held: boolean }[]> => [
      ...(await sql`
      select state, state <> 'active' and (xact_start is not null or backend_xmin is not null) as held from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and (query ilike 'listen %' or query like '%pg_listening_channels%')`),
    ];
    await eventually("a listener", async () => (await listeners()).length > 0);
    for (let n = 0; n < 20; n += 1) {
      await queue.enqueue(tasks.many, n);
      for (const { held } of await listeners()) expect(held).toBe(false);
    }
    await queue.close();
  },
  120_000,
);
