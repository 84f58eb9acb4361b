import { atMost } from "../at-most.ts";
import { batchCalls } from "../batch-calls.ts";
import { callQuietly } from "../logger.ts";
import { asBossDb, openBoss, type PgBoss } from "./boss.ts";
import { type Database, openDatabase, type SqlRunner } from "./database.ts";
import { insertEach, type NewJob } from "./insert-jobs.ts";
import { startListener } from "./listener.ts";
import type { PostgresTaskProviderSettings } from "./options.ts";
import { advice, qualified, SchemaUnfit, verifySchema } from "./schema.ts";
import { verifyQueue } from "./verify-queue.ts";
import { withDeadline } from "./with-deadline.ts";

/** How long a close waits for a queue that is being opened, and for pg-boss to stop. */
const closeTimeoutMs = 2000;
/** Enqueues with a key that may wait for another transaction at once, of the 10 connections that a pool has. */
const keyTakers = 3;

/** One queue, connected: what every query of this folder gets first. */
export interface Queue {
  /** The queue's own, as long as its rows live. */
  readonly id: string;
  readonly name: string;
  readonly db: Database;
  readonly boss: PgBoss;
  readonly settings: PostgresTaskProviderSettings;
  readonly tables: QueueTables;
  /** pg-boss's own channel: its inserts notify there, so ours need no statement of their own. */
  readonly channel: string;
  /** Inserts a job; those that come while another insert is under way share the next statement, and its notification. */
  readonly insert: (job: NewJob) => Promise<PromiseSettledResult<void>>;
  /**
   * For what takes a deduplication key: it waits for whoever is taking the same one, an open transaction perhaps, and must not hold all
   * connections meanwhile.
   */
  readonly takeKey: <T>(work: () => Promise<T>) => Promise<T>;
}

export interface QueueTables {
  /** pg-boss's. Read freely; what we write there is said at each place. */
  readonly job: string;
  readonly queue: string;
  readonly key: string;
  readonly cancel: string;
}

/** What a listening worker is told. */
export interface QueueHears {
  /** A job may be there. */
  onWork(): void;
  /** Somebody asked to cancel that running job; undefined: any, as requests may have been missed. */
  onCancelRequest(jobId: string | undefined): void;
}

/** Connects on first use, and again after a failure. */
export interface QueueConnection {
  ready(): Promise<Queue>;
  listen(hears: QueueHears): Promise<{ stop(): Promise<void> }>;
  close(): Promise<void>;
}

/** `beside`: over a few connections of its own with the settings of a borrowed pool, whatever others do with that. */
export function connectQueue(
  settings: PostgresTaskProviderSettings,
  how: { readonly beside?: boolean } = {},
): QueueConnection {
  const onError = (error: unknown): void => callQuietly(() => settings.onError?.(error));
  const { connectionString, pool } = settings;
  const db = openDatabase({ ...(how.beside ? { beside: pool } : { connectionString, pool }), onError });
  let opening: Promise<Queue> | undefined;
  let closing: Promise<void> | undefined;
  const ready = (): Promise<Queue> => {
    opening ??= openQueue(db, settings, onError).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    ready,
    async listen({ onWork, onCancelRequest }) {
      const { channel, name } = await ready();
      return startListener({
        channel,
        newClient: () => db.newClient(),
        onWake: (payload) => {
          if (payload === undefined || payload === name) onWork();
          if (payload === undefined) onCancelRequest(undefined);
          else if (payload.startsWith(cancelNotice(name)))
            onCancelRequest(payload.slice(cancelNotice(name).length));
        },
        onError,
      });
    },
    close() {
      closing ??= (async () => {
        // A queue that is still being opened on a dead link is given up: its connections are cut below.
        const opened = withDeadline(Promise.resolve(opening), closeTimeoutMs, "the queue is not open yet");
        const queue = await opened.catch(() => undefined);
        try {
          const stopped = Promise.resolve(queue?.boss.stop({ graceful: false, close: false }));
          await withDeadline(stopped, closeTimeoutMs, "pg-boss does not stop").catch(() => undefined);
        } finally {
          await db.close();
        }
      })();
      return closing;
    },
  };
}

async function openQueue(
  db: Database,
  settings: PostgresTaskProviderSettings,
  onError: (error: unknown) => void,
): Promise<Queue> {
  const { schema, queueName: name } = settings;
  await verifySchema(db, schema);
  let channel: string | undefined;
  const boss = openBoss({
    ...settings,
    db: asBossDb({
      executeSql: (text, values) => db.executeSql(text, values),
      // pg-boss computes the channel; the listening is ours, and only while a worker runs.
      listen: (named: string) => {
        channel = named;
        return Promise.resolve({ close: () => Promise.resolve() });
      },
    } as SqlRunner),
    migrate: false,
    createSchema: false,
    onError,
  });
  try {
    await startBoss(boss, schema);
    if (channel === undefined) throw new Error("pg-boss named no channel");
    const tables = {
      job: qualified(schema, "job"),
      queue: qualified(schema, "lenso_task_queue"),
      key: qualified(schema, "lenso_task_key"),
      cancel: qualified(schema, "lenso_task_cancel"),
    };
    const id = await verifyQueue(boss, db, tables.queue, settings);
    const insert = batchCalls((jobs: readonly NewJob[]) => insertEach(boss, name, jobs), 100);
    return { id, name, db, boss, settings, tables, channel, insert, takeKey: atMost(keyTakers) };
  } catch (error) {
    await boss.stop({ graceful: false, close: false });
    throw error;
  }
}

async function startBoss(boss: PgBoss, schema: string): Promise<void> {
  try {
    await boss.start();
  } catch (error) {
    // pg-boss has no code for these two.
    if (error instanceof Error && /not installed|requires migrations/.test(error.message))
      throw new SchemaUnfit(
        `schema "${schema}" holds another version of pg-boss than this release needs: ${advice}`,
        { cause: error },
      );
    throw error;
  }
}

/** Makes the rows of a queue, in pg-boss and in ours, for the migration. Rows only, no DDL; harmless when many do it at once. */
export async function ensureQueue(
  boss: PgBoss,
  db: SqlRunner,
  table: string,
  name: string,
  settings: Pick<PostgresTaskProviderSettings, "expireInSeconds" | "heartbeatSeconds" | "retentionSeconds">,
): Promise<void> {
  const found = await boss.getQueue(name);
  if (found === null)
    await boss.createQueue(name, {
      policy: "standard",
      notify: true,
      expireInSeconds: settings.expireInSeconds,
      heartbeatSeconds: settings.heartbeatSeconds,
      deleteAfterSeconds: settings.retentionSeconds,
    });
  else if (found.policy !== "standard")
    throw new SchemaUnfit(
      `queue "${name}" has pg-boss's policy ${String(found.policy)}, and tasks need a standard one: take another queueName`,
    );
  else if (found.notify !== true) await boss.updateQueue(name, { notify: true });
  await db.executeSql(`insert into ${table} (queue) values ($1) on conflict (queue) do nothing`, [name]);
}

/** Wakes idle workers when the transaction commits. A hint: polling finds the job as well. */
export async function notifyQueue(runner: SqlRunner, { channel, name }: Queue): Promise<void> {
  await runner.executeSql("select pg_notify($1, $2)", [channel, name]);
}

/** In front of a job's id on the queue's channel: the job is to be cancelled. No queue's name holds a colon. */
export function cancelNotice(name: string): string {
  return `cancel:${name}:`;
}
