import type { CallResult } from "../../../capability/index.ts";
import { detail, problem } from "../../postgres/support/jobs.ts";
import type { Ledger } from "./ledger.ts";

/** How long one try may take, in ms: shorter than the plugin's own limits, so that callers leave in the middle of statements. */
export const tryMs = 3000;

/** Makes a call again and again until it is answered with a value or a domain code; what is neither that nor an outage goes into the ledger. */
export async function untilAnswered<Value>(
  ledger: Ledger,
  operation: string,
  call: () => Promise<CallResult<Value, string>>,
): Promise<CallResult<Value, string>> {
  for (;;) {
    const result = await call();
    noteOddAnswer(ledger, operation, result);
    if (!problem(result).startsWith("runtime:")) return result;
    await Bun.sleep(50);
  }
}

const expected = new Set([
  "ok",
  "no_job_available",
  "invalid_lease",
  "idempotency_conflict",
  "runtime:unavailable",
  "runtime:deadline_exceeded",
]);

/** Writes down an answer that no fault of a run excuses. */
export function noteOddAnswer(ledger: Ledger, operation: string, result: CallResult<unknown, string>): void {
  const answer = problem(result);
  if (!expected.has(answer)) ledger.write({ entry: "odd", operation, answer, detail: detail(result) });
}
