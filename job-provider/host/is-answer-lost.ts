import { DatabaseError } from "../../plugin/store/drivers/database-error.ts";

/**
 * Whether a statement that failed may have been committed all the same: the connection broke, or the server ended the session. What the server
 * itself refused has had no effect.
 */
export function isAnswerLost(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  const isState = /^[0-9A-Z]{5}$/.test(error.code);
  return !isState || error.code.startsWith("08") || error.code.startsWith("57P");
}
