import { DatabaseError, isSqlState } from "../../../plugin/store/drivers/database-error.ts";
import type { Driver, Row, Session, SqlValue } from "../../../plugin/store/drivers/driver.ts";

/** What is used of a `pg.Pool`. */
export interface PgPool {
  connect(): Promise<PgPoolClient>;
  query(config: PgQuery): Promise<{ readonly rows: readonly unknown[] }>;
  readonly totalCount: number;
}

export interface PgPoolClient {
  query(config: PgQuery): Promise<{ readonly rows: readonly unknown[] }>;
  release(broken?: boolean): void;
}

interface PgQuery {
  readonly text: string;
  readonly values?: SqlValue[];
}

/** What is used of a `Bun.SQL` pool. */
export interface BunPool {
  unsafe(text: string, values?: SqlValue[]): BunQuery;
  begin<T>(work: (session: BunSession) => Promise<T>): Promise<T>;
}

export interface BunSession {
  unsafe(text: string, values?: SqlValue[]): BunQuery;
}

interface BunQuery extends PromiseLike<unknown> {
  simple(): PromiseLike<unknown>;
}

/** A pool that stays its owner's: a `pg.Pool` or a `Bun.SQL`. */
export type BorrowedPool = PgPool | BunPool;

export function isBorrowedPool(value: unknown): value is BorrowedPool {
  return isPgPool(value) || isBunPool(value);
}

/** What statements need of a pool. */
export type BorrowedDriver = Pick<Driver, "query" | "transaction" | "close"> &
  Partial<Pick<Driver, "listen">>;

/** The caller's pool as a driver that never closes it. */
export function borrowDriver(pool: BorrowedPool): BorrowedDriver {
  return isPgPool(pool) ? pgDriver(pool) : bunDriver(pool);
}

function pgDriver(pool: PgPool): BorrowedDriver {
  return {
    query: (text, values) => runPg(pool, text, values),
    async transaction(work) {
      const client = await pool.connect().catch((error: unknown) => {
        throw withCode(error);
      });
      let broken = true;
      try {
        await runPg(client, "begin");
        const result = await work({
          query: (text, values) => runPg(client, text, values),
          script: async (text) => void (await runPg(client, text)),
        });
        await runPg(client, "commit");
        broken = false;
        return result;
      } catch (error) {
        broken = await runPg(client, "rollback").then(
          () => false,
          () => true,
        );
        throw error;
      } finally {
        client.release(broken);
      }
    },
    close: async () => undefined,
  };
}

function bunDriver(pool: BunPool): BorrowedDriver {
  return {
    query: (text, values) => runBun(pool, text, values),
    async transaction(work) {
      let ownError: { readonly error: unknown } | undefined;
      try {
        return await pool.begin((sql) =>
          work(sessionOf(sql)).catch((error: unknown) => {
            ownError = { error };
            throw error;
          }),
        );
      } catch (error) {
        throw ownError?.error === error ? error : withCode(error); // its begin or commit
      }
    },
    close: async () => undefined,
  };
}

function sessionOf(sql: BunSession): Session {
  return {
    query: (text, values) => runBun(sql, text, values),
    async script(text) {
      try {
        await sql.unsafe(text).simple();
      } catch (error) {
        throw withCode(error);
      }
    },
  };
}

/** Runs a statement on a `pg` pool or client. @throws DatabaseError */
export async function runPg(
  client: Pick<PgPool, "query">,
  text: string,
  values?: readonly SqlValue[],
): Promise<readonly Row[]> {
  try {
    const { rows } = await client.query({ text, ...(values && { values: [...values] }) });
    return rows as readonly Row[];
  } catch (error) {
    throw withCode(error);
  }
}

/** Runs a statement on a `Bun.SQL` pool or transaction. @throws DatabaseError */
export async function runBun(
  sql: BunSession,
  text: string,
  values: readonly SqlValue[],
): Promise<readonly Row[]> {
  try {
    return [...((await sql.unsafe(text, [...values])) as Iterable<Row>)];
  } catch (error) {
    throw withCode(error);
  }
}

/** The client's error with its SQLSTATE where both clients have it; what has none broke the connection. */
export function withCode(error: unknown): unknown {
  if (error instanceof DatabaseError || !(error instanceof Error)) return error;
  const { code, errno } = error as { code?: unknown; errno?: unknown };
  const state = [errno, code].find((each) => typeof each === "string" && isSqlState(each));
  if (typeof state === "string") return new DatabaseError(state, error.message);
  const short = typeof code === "string" ? code.replace(/^ERR_POSTGRES_/, "") : "CONNECTION_CLOSED";
  return new DatabaseError(short, error.message);
}

/** Whether it can do what is used of a `pg.Pool`. */
export function isPgPool(value: unknown): value is PgPool {
  const pool = value as Partial<PgPool> | null | undefined;
  return (
    typeof pool === "object" &&
    pool !== null &&
    typeof pool.query === "function" &&
    typeof pool.connect === "function" &&
    typeof pool.totalCount === "number"
  );
}

function isBunPool(value: unknown): value is BunPool {
  const pool = value as { unsafe?: unknown; begin?: unknown } | undefined;
  return isCallable(value) && typeof pool?.unsafe === "function" && typeof pool?.begin === "function";
}

/** Bun's clients are functions that have their methods as properties. */
export function isCallable(value: unknown): boolean {
  return typeof value === "function";
}
