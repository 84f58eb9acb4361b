import { callQuietly } from "../logger.ts";
import type { Trouble } from "./jobs-queue.ts";

/** Tells `onError` when something in the background begins to fail, and not again until it has worked in between. */
export function createTrouble(onError: ((error: unknown) => void) | undefined): Trouble {
  const failing = new Set<string>();
  return {
    begins(subject, error) {
      if (failing.has(subject)) return;
      failing.add(subject);
      callQuietly(() => onError?.(error));
    },
    ends: (subject) => void failing.delete(subject),
  };
}
