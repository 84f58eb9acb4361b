import pg, { type Pool, type PoolClient } from "pg";
import { callQuietly } from "../logger.ts";
import { withDeadline } from "./with-deadline.ts";

export type Row = Readonly<Record<string, unknown>>;

/** Runs a statement. pg-boss takes the same shape, so a caller's transaction serves both. */
export interface SqlRunner {
  executeSql(text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }>;
}

export interface Database extends SqlRunner {
  /** One connection, one transaction; rolled back when `work` rejects. */
  transaction<T>(work: (transaction: SqlRunner) => Promise<T>): Promise<T>;
  /** A connection of its own, outside the pool, with the pool's settings. Not connected yet. */
  newClient(): pg.Client;
  /** Closes the pool unless it is borrowed. */
  close(): Promise<void>;
}

export interface OpenDatabaseOptions {
  readonly connectionString?: string | undefined;
  readonly pool?: Pool | undefined;
  /** Instead of the two: a few connections of our own beside this pool, with its settings. */
  readonly beside?: Pool | undefined;
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** Longest wait for a connection, and for one statement. A frozen server must not hang a loop for ever. */
const connectTimeoutMs = 10_000;
const statementTimeoutMs = 30_000;
/** pg-boss's scripts for maintenance and migration, which come without values, may walk whole tables. */
const scriptTimeoutMs = 600_000;
/** One may be busy with maintenance: heartbeats and settlements have the others. */
const besideConnections = 3;
/** How long a close waits for statements under way. What a dead link never answers is cut then. */
const closeTimeoutMs = 2000;

/** Opens a pool, or borrows the one that is given. Nothing is connected yet. */
export function openDatabase(options: OpenDatabaseOptions): Database {
  const borrowed = options.pool;
  const pool =
    borrowed ??
    new pg.Pool({
      ...(options.beside
        ? { ...settingsOf(options.beside), max: besideConnections, min: 0 }
        : { connectionString: options.connectionString as string }),
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
    });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  const onPoolError = (error: unknown): void => callQuietly(() => options.onError?.(error));
  pool.on("error", onPoolError);
  const clients = new Set<PoolClient>();
  pool.on("connect", (client) => clients.add(client));
  pool.on("remove", (client) => clients.delete(client));
  let closing: Promise<void> | undefined;
  return {
    executeSql: (text, values) => withClient(pool, (client) => run(client, text, values)),
    transaction: (work) =>
      withClient(pool, async (client) => {
        await run(client, "begin isolation level read committed");
        const result = await work({ executeSql: (text, values) => run(client, text, values) });
        await run(client, "commit");
        return result;
      }),
    newClient: () => new pg.Client({ ...settingsOf(pool), keepAlive: true }),
    close() {
      closing ??= (async () => {
        if (borrowed) borrowed.off("error", onPoolError);
        else await endPool(pool, clients);
      })();
      return closing;
    },
  };
}

async function endPool(pool: Pool, clients: ReadonlySet<PoolClient>): Promise<void> {
  const ended = pool.end();
  try {
    await withDeadline(ended, closeTimeoutMs, "the pool did not end in time");
  } catch {
    // A client of the pool has no public way to be cut while somebody waits for its answer.
    for (const client of clients)
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    await ended.catch(() => undefined);
  }
}

/** How the pool connects. The password is not enumerable in its options. */
function settingsOf({ options }: Pool): pg.PoolConfig {
  return { ...options, ...(options.password === undefined ? {} : { password: options.password }) };
}

/** A connection whose work failed is closed, not reused: it may be in a transaction, read-only or half dead. */
async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const release = (client: PoolClient, failed: boolean): void => {
    client.off("error", ignore);
    client.release(failed);
  };
  const client = await withDeadline(connect(pool), connectTimeoutMs, "no connection in time", (late) =>
    release(late, false),
  );
  let failed = true;
  try {
    const result = await work(client);
    failed = false;
    return result;
  } finally {
    release(client, failed);
  }
}

/**
 * The pool listens for errors only while a client is idle, and one that breaks in use would end the process. Taken by callback, since
 * one may break in the very packet that made it ready: a promise would be a turn too late.
 */
function connect(pool: Pool): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (client === undefined) return reject(error ?? new Error("the pool gave no connection"));
      client.on("error", ignore);
      resolve(client);
    });
  });
}

const ignore = (): void => {};

async function run(client: PoolClient, text: string, values?: readonly unknown[]): Promise<{ rows: Row[] }> {
  const limit =
    values === undefined && /^\s*BEGIN\b[\s\S]*;/.test(text) ? scriptTimeoutMs : statementTimeoutMs;
  const query = values === undefined ? client.query(text) : client.query(text, [...values]);
  return withDeadline(query as Promise<{ rows: Row[] }>, limit, "no answer in time");
}
