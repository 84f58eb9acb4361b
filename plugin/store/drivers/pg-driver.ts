import { createHash } from "node:crypto";
import type pgModule from "pg";
import type { Pool, PoolClient } from "pg";
import { withinTime } from "../within-time.ts";
import { DatabaseError, urlRefused } from "./database-error.ts";
import type { Driver, DriverOptions, Row, Session, SqlValue } from "./driver.ts";
import { listenForEver } from "./pg-listener.ts";

/** A pool of the npm package `pg`, an optional peer dependency. Works under Bun and Node. */
export async function openPgDriver(options: DriverOptions): Promise<Driver> {
  const pg = await loadPg();
  const url = new URL(options.url);
  // What stands in the URL would replace what is given beside it, so both are sent, ours last.
  const settings = [
    ...url.searchParams.getAll("options"),
    ...Object.entries(options.settings).map(([name, value]) => `-c ${name}=${escapeOption(value)}`),
  ];
  url.searchParams.delete("options");
  try {
    // The pool reads the URL for each connection anew; what it would refuse then is refused now.
    new pg.Client(url.href);
  } catch (error) {
    throw new DatabaseError(urlRefused, error instanceof Error ? error.message : "");
  }
  const pool: Pool = new pg.Pool({
    connectionString: url.href,
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    idleTimeoutMillis: 0,
    keepAlive: true,
    allowExitOnIdle: false,
    ...(settings.length === 0 ? {} : { options: settings.join(" ") }),
  });
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on("error", () => undefined);
  const clients = new Set<PoolClient>();
  pool.on("connect", (client) => {
    clients.add(client);
    // The pool listens only while a client is idle; one that breaks inside a transaction would end the process too.
    client.on("error", () => undefined);
  });
  pool.on("remove", (client) => clients.delete(client));
  let closing: Promise<void> | undefined;
  return {
    query: (text, values) => run(pool, text, values, options.prepare),
    transaction: (work) => inTransaction(pool, options.prepare, work),
    listen: (channel, onPayload, onListening) => listenForEver(pool, channel, onPayload, onListening),
    close(timeoutMs) {
      closing ??= closePool(pool, clients, timeoutMs);
      return closing;
    },
  };
}

async function loadPg(): Promise<typeof pgModule> {
  try {
    return (await import("pg")).default;
  } catch (cause) {
    throw new Error(
      'driver "pg" needs the npm package pg, an optional peer dependency: add it to the project',
      { cause },
    );
  }
}

async function closePool(pool: Pool, clients: ReadonlySet<PoolClient>, timeoutMs: number): Promise<void> {
  await withinTime(
    timeoutMs,
    pool.end().catch(() => undefined),
  );
  for (const client of clients) {
    (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
  }
}

async function inTransaction<T>(
  pool: Pool,
  prepare: boolean,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  let client: PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw translate(error);
  }
  let broken = true;
  try {
    await run(client, "begin", [], false);
    const result = await work({
      query: (text, values) => run(client, text, values, prepare),
      script: async (text) => void (await run(client, text, undefined, false)),
    });
    await run(client, "commit", [], false);
    broken = false;
    return result;
  } catch (error) {
    broken = await run(client, "rollback", [], false).then(
      () => false,
      () => true,
    );
    throw error;
  } finally {
    client.release(broken);
  }
}

async function run(
  client: Pick<Pool, "query">,
  text: string,
  values: readonly SqlValue[] | undefined,
  prepare: boolean,
): Promise<readonly Row[]> {
  try {
    if (values === undefined) return (await client.query(text)).rows as Row[];
    const name = prepare ? statementName(text) : undefined;
    return (await client.query({ text, values: values as SqlValue[], ...(name ? { name } : {}) }))
      .rows as Row[];
  } catch (error) {
    throw translate(error);
  }
}

const names = new Map<string, string>();

/** A stable name for a constant text, so that each connection prepares it once. */
function statementName(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `lenso_${createHash("sha256").update(text).digest("hex").slice(0, 24)}`;
    names.set(text, name);
  }
  return name;
}

function escapeOption(value: string): string {
  return value.replace(/[\\ ]/g, "\\$&");
}

function translate(error: unknown): unknown {
  if (error instanceof DatabaseError || !(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  if (typeof code === "string") return new DatabaseError(code, error.message);
  // pg has no code for a connection that broke or could not be had in time.
  return new DatabaseError(
    /timeout/i.test(error.message) ? "CONNECTION_TIMEOUT" : "CONNECTION_CLOSED",
    error.message,
  );
}
