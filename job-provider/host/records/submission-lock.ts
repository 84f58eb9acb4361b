import { createHash } from "node:crypto";
import type { JobSession } from "./job-session.ts";

/**
 * The advisory lock of a submission key, a 64-bit integer as text: whoever records a job under the key holds it from before it looks until it
 * has committed. Keys that share one by chance wait for each other, and nothing else.
 */
export function submissionLock(hostId: string, keyDigest: string): string {
  const name = JSON.stringify(["lenso-job-host submission", hostId, keyDigest]);
  return createHash("sha256").update(name).digest().readBigInt64BE().toString();
}

/**
 * Waits until nobody is recording a job under the key any more. A statement after this one sees what they have recorded.
 *
 * @throws DatabaseError, also when the wait takes longer than the session's `lock_timeout`
 */
export async function awaitSubmissions(session: JobSession, keyDigest: string): Promise<void> {
  const text = "select pg_advisory_xact_lock($1::text::bigint)::text as held";
  await session.query(text, [submissionLock(session.hostId, keyDigest)]);
}
