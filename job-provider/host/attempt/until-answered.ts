import { setTimeout as sleep } from "node:timers/promises";
import { databaseFailure } from "../../../plugin/store/database-failure.ts";
import type { Trouble } from "../../../tasks/jobs/jobs-queue.ts";
import { backoffMs } from "../../../tasks/worker/backoff.ts";
import type { AttemptGate } from "./attempt-gate.ts";

/**
 * The answer of a statement that may be asked again, however long the database is away: until the attempt's lease can no longer be proven, or
 * the records are closed.
 *
 * @throws JobAttemptOver. @throws DatabaseError for a statement that the database refuses. @throws RecordsClosed
 */
export async function untilAnswered<T>(
  gate: AttemptGate,
  trouble: Trouble,
  ask: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    gate.checkHeld();
    try {
      const answer = await ask();
      trouble.ends("attempt");
      return answer;
    } catch (error) {
      gate.checkHeld();
      if (databaseFailure(error).kind !== "unavailable") throw error;
      trouble.begins("attempt", error);
    }
    await sleep(backoffMs(failures, { capMs: 2000 }), undefined, { signal: gate.signal }).catch(
      () => undefined,
    );
  }
}
