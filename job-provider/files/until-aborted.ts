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
  let interrupt: (reason: unknown) => void = () => {};
  const abort = (): void => interrupt(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  const iterator = source[Symbol.asyncIterator]();
  let ended = false;
  try {
    for (;;) {
      // A promise of this step alone: one that outlived it, as in a race, would keep every item until the end.
      const step = await new Promise<IteratorResult<T>>((resolve, reject) => {
        interrupt = reject;
        iterator.next().then(resolve, reject);
      }).catch((error: unknown) => {
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
