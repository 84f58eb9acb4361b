import type { AttemptDeps } from "./attempt-deps.ts";

/**
 * Passes on what a store answers. Its failures are told to the host before the provider gets them, since nothing of what a provider throws is
 * kept; but a call that was called off, because the attempt is over, says nothing about the store.
 *
 * @throws JobAttemptOver, and whatever the store throws
 */
export async function tellTrouble<T>(
  { gate, trouble }: Pick<AttemptDeps, "gate" | "trouble">,
  store: string,
  call: () => Promise<T>,
): Promise<T> {
  gate.checkHeld();
  try {
    const answer = await call();
    trouble.ends(store);
    return answer;
  } catch (error) {
    gate.checkHeld();
    trouble.begins(store, error);
    throw error;
  }
}
