import type { RetryPolicy } from "../provider.ts";

/** The longest delay without a limit of its own: a week, in seconds. */
const longestSeconds = 604_800;

/** How long a job waits after its n-th attempt, in ms. With back-off twice as long each time, of which up to a half is left out at random. */
export function retryDelayMs(policy: RetryPolicy | undefined, attempt: number): number {
  if (policy === undefined) return 0;
  const { delaySeconds, backoff, maxDelaySeconds = longestSeconds } = policy;
  if (!backoff) return delaySeconds * 1000;
  const grown = Math.min(delaySeconds * 2 ** Math.min(attempt - 1, 30), maxDelaySeconds);
  return grown * (1 - Math.random() / 2) * 1000;
}
