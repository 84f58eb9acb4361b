import { until } from "../../postgres/support/observe.ts";

/** Polls a condition for up to a minute: these tests run several processes at once, and a busy machine is no fault. */
export function eventually(what: string, condition: () => Promise<boolean>, limitMs = 60_000): Promise<void> {
  return until(what, condition, limitMs);
}
