import type { RetryPolicy } from "./provider.ts";

/** The longest delay of a policy without a limit of its own: a week, in seconds. */
export const longestDelaySeconds = 604_800;

/** A delay doubles so many times at most, as pg-boss has it. */
export const mostDoublings = 15;

/**
 * How long a job waits after its n-th attempt, in ms. Fixed without back-off; with it `delaySeconds · 2^(n−1)` and up to as much again by
 * chance, `maxDelaySeconds` at most. Never less than was asked for, so that no receiver is called again sooner.
 *
 * The rule of every provider: pg-boss computes it by itself, the records of tasks in SQL.
 */
export function retryDelayMs(policy: RetryPolicy | undefined, attempt: number): number {
  if (policy === undefined) return 0;
  const { delaySeconds, backoff, maxDelaySeconds = longestDelaySeconds } = policy;
  if (!backoff) return delaySeconds * 1000;
  const grown = delaySeconds * 2 ** Math.min(attempt - 1, mostDoublings);
  return Math.min(grown * (1 + Math.random()), maxDelaySeconds) * 1000;
}
