/** When somebody stops waiting. */
export interface TimeLimit {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Why the wait was over. */
export type Over = "cancelled" | "deadline_exceeded";

/** Work that ended, perhaps in the last turn; or work that did not. */
export type Limited<T> =
  | { readonly ended: true; readonly value: T; readonly over: Over | undefined }
  | { readonly ended: false; readonly over: Over };

/**
 * Waits for the work until the limit. At the limit the work's signal aborts, and work that ends within one more turn of
 * the event loop still counts: completion beats simultaneous cancellation. What the work does later is nobody's concern.
 */
export function runWithin<T>(
  limit: TimeLimit,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Limited<T>> {
  let resolve!: (limited: Limited<T>) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<Limited<T>>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  const controller = new AbortController();
  let over: Over | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const onAbort = (): void => giveUp("cancelled");
  const forget = (): void => {
    clearTimeout(timer);
    limit.signal?.removeEventListener("abort", onAbort);
  };
  const giveUp = (reason: Over): void => {
    over = reason;
    // An aborted signal has dropped its listener itself.
    if (reason === "cancelled") clearTimeout(timer);
    else forget();
    controller.abort();
    setImmediate(() => resolve({ ended: false, over: reason }));
  };

  const { signal, timeoutMs } = limit;
  if (signal?.aborted) giveUp("cancelled");
  else {
    signal?.addEventListener("abort", onAbort, { once: true });
    // A longer delay overflows the runtime's 32-bit timer and would fire at once.
    if (timeoutMs !== undefined && timeoutMs < 2 ** 31) {
      timer = setTimeout(() => giveUp("deadline_exceeded"), Math.max(0, timeoutMs));
    }
  }
  work(controller.signal)
    .then((value) => resolve({ ended: true, value, over }), reject)
    .finally(() => {
      if (over === undefined) forget();
    });
  return promise;
}
