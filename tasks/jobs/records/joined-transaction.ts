import type { Row, SqlValue } from "../../../plugin/store/drivers/driver.ts";
import { type DrizzleTransaction, isDrizzle, runDrizzle } from "../../drizzle-transaction.ts";
import { SafeCause } from "../../task-queue-error.ts";
import {
  type BunSession,
  isBorrowedPool,
  isCallable,
  type PgPool,
  runBun,
  runPg,
  withCode,
} from "./borrowed-pool.ts";
import type { RecordSession } from "./record-session.ts";

type Query = RecordSession["query"];

/**
 * Statements on the caller's own open transaction: a kysely `Transaction`, the `tx` of drizzle's `db.transaction`, a `pg` client
 * between BEGIN and COMMIT, or the `tx` that `Bun.SQL`'s `begin` and `savepoint` give. Told by what they can do, since they may come from another copy of their package.
 *
 * @throws SafeCause for anything else: a pool, or a connection that is known to have no transaction open, would commit by itself.
 */
export function joinTransaction(transaction: unknown): Query {
  if (isKysely(transaction)) {
    if (!transaction.isTransaction) throw new SafeCause(`${expected}, got a Kysely without a transaction`);
    return (text, values) => runKysely(transaction, text, values);
  }
  if (isBunTransaction(transaction)) return (text, values) => runBun(transaction, text, values);
  const drizzle =
    typeof transaction === "object" && transaction !== null ? isDrizzle(transaction) : undefined;
  if (drizzle === "database") throw new SafeCause(`${expected}, got a drizzle database without one`);
  if (drizzle === "transaction") {
    const joined = transaction as DrizzleTransaction;
    return (text, values) => runInDrizzle(joined, text, values);
  }
  if (isBorrowedPool(transaction)) throw new SafeCause(`${expected}, got a pool`);
  if (isPgClient(transaction)) {
    // Older clients cannot say. "I" is idle; in a failed transaction ("E") PostgreSQL refuses the statement with 25P02.
    if (transaction.getTransactionStatus?.() === "I")
      throw new SafeCause(`${expected}, got a pg client without one`);
    return (text, values) => runPg(transaction, text, values);
  }
  throw new SafeCause(`${expected}, got something else`);
}

const expected = "transaction: expected an open transaction of kysely, drizzle, pg or Bun.SQL";

async function runInDrizzle(
  transaction: DrizzleTransaction,
  text: string,
  values: readonly SqlValue[],
): Promise<readonly Row[]> {
  try {
    return await runDrizzle(transaction, text, values);
  } catch (error) {
    throw withCode(error);
  }
}

interface KyselyExecutor {
  readonly isTransaction: boolean;
  executeQuery(query: object): Promise<{ readonly rows: readonly unknown[] }>;
}

/** A compiled query made by hand: importing kysely for it would make it a dependency of everybody. */
async function runKysely(
  kysely: KyselyExecutor,
  text: string,
  values: readonly SqlValue[],
): Promise<readonly Row[]> {
  const query = { kind: "RawNode", sqlFragments: [text], parameters: [] };
  try {
    const { rows } = await kysely.executeQuery({
      sql: text,
      parameters: [...values],
      query,
      queryId: { queryId: crypto.randomUUID() },
    });
    return rows as readonly Row[];
  } catch (error) {
    throw withCode(error);
  }
}

function isKysely(value: unknown): value is KyselyExecutor {
  const kysely = value as Partial<KyselyExecutor> | null | undefined;
  return (
    typeof kysely === "object" &&
    kysely !== null &&
    typeof kysely.executeQuery === "function" &&
    typeof kysely.isTransaction === "boolean"
  );
}

function isBunTransaction(value: unknown): value is BunSession {
  const sql = value as { unsafe?: unknown; savepoint?: unknown } | undefined;
  return isCallable(value) && typeof sql?.unsafe === "function" && typeof sql?.savepoint === "function";
}

interface PgClient extends Pick<PgPool, "query"> {
  getTransactionStatus?(): string | null;
}

function isPgClient(value: unknown): value is PgClient {
  const client = value as { query?: unknown; escapeIdentifier?: unknown } | null | undefined;
  return (
    typeof client === "object" &&
    client !== null &&
    typeof client.query === "function" &&
    typeof client.escapeIdentifier === "function"
  );
}
