/**
 * A stream that ends with the signal's reason as soon as the signal aborts, also while the source keeps its reader waiting. The source is
 * told that nobody reads on; when it hangs, nobody waits for its answer.
 */
export async function* untilAborted<T>(
  source: AsyncIterable<T>,
  signal?: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  if (signal === undefined) return yield* source;
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {}); // told by the race below, or to nobody when the source ended first
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const iterator = source[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      const step = await Promise.race([iterator.next(), aborted.promise]).catch((error: unknown) => {
        ended = !signal.aborted; // a source that threw has ended
        throw error;
      });
      if (step.done === true) {
        ended = true;
        return;
      }
      yield step.value;
      signal.throwIfAborted();
    }
  } finally {
    signal.removeEventListener("abort", abort);
    if (!ended) {
      const leaving = Promise.resolve(iterator.return?.()).catch(() => {});
      if (!signal.aborted) await leaving;
    }
  }
}
