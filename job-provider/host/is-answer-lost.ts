import { DatabaseError, isSqlState } from "../../plugin/store/drivers/database-error.ts";

/**
 * Whether a statement that failed may have been committed all the same: the connection broke, or the server ended the session. What the server
 * itself refused has had no effect.
 */
export function isAnswerLost(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  return !isSqlState(error.code) || error.code.startsWith("08") || error.code.startsWith("57P");
}

/**
 * Whether work was given up because somebody else held what it waited for, or for the time that it took. It has had no effect, and whoever was
 * waited for may still have one.
 */
export function isWaitOver(error: unknown): boolean {
  return error instanceof DatabaseError && waitsOver.has(error.code);
}

/** Of a lock, of a statement, and of a client that was silent in its transaction. */
const waitsOver: ReadonlySet<string> = new Set(["55P03", "57014", "25P03"]);
