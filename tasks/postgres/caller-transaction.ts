import type pg from "pg";
import { type DrizzleTransaction, isDrizzle, runDrizzle } from "../drizzle-transaction.ts";
import { SafeCause, TaskQueueError } from "../task-queue-error.ts";
import { fromKysely } from "./boss.ts";
import type { Row, SqlRunner } from "./database.ts";

type Like = Readonly<Record<string, unknown>>;

/**
 * Statements in the caller's own transaction: a kysely `Transaction`, a `pg` client that is in one, or the `tx` of drizzle's
 * `db.transaction`, over node-postgres or another client. What it cannot run (25P02: the transaction has failed before) rejects as its driver says it; no other connection
 * is ever used instead.
 *
 * @throws TaskQueueError `invalid-options` for anything else
 */
export function callerTransaction(transaction: unknown): SqlRunner {
  if (typeof transaction === "function" && hasMethods(transaction, "unsafe"))
    throw refused("a Bun.SQL or postgres.js connection, which cannot be joined");
  if (typeof transaction !== "object" || transaction === null) throw refused(`a ${typeof transaction}`);
  const like = transaction as Like;
  if (hasMethods(like, "executeQuery")) {
    if (like["isTransaction"] !== true) throw refused("a Kysely that is in no transaction");
    return fromKysely(like as unknown as Parameters<typeof fromKysely>[0]);
  }
  const drizzle = isDrizzle(like);
  if (drizzle === "database") throw refused("a drizzle database that is in no transaction");
  if (drizzle === "transaction") {
    const joined = like as unknown as DrizzleTransaction;
    return {
      executeSql: async (text, values = []) => ({ rows: [...(await runDrizzle(joined, text, values))] }),
    };
  }
  if (hasMethods(like, "query")) {
    if (!hasMethods(like, "escapeLiteral")) throw refused("a pool, not one of its clients");
    return inPgClient(like as unknown as pg.ClientBase);
  }
  throw refused("an object of another kind");
}

function inPgClient(client: pg.ClientBase): SqlRunner {
  const idle = "getTransactionStatus" in client && client.getTransactionStatus() === "I";
  if (idle) throw refused("a pg client that is in no transaction: send BEGIN first");
  return {
    executeSql: (text, values) =>
      values === undefined ? client.query<Row>(text) : client.query<Row>(text, [...values]),
  };
}

function hasMethods(value: object, ...names: readonly string[]): boolean {
  return names.every((name) => typeof (value as Like)[name] === "function");
}

function refused(what: string): TaskQueueError {
  const cause = new SafeCause(
    `transaction: expected a kysely Transaction, a pg client in a transaction or a drizzle transaction, got ${what}`,
  );
  return new TaskQueueError("invalid-options", "enqueue", { cause });
}
