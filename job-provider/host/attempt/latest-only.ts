/** Writes of which only the latest counts. */
export interface LatestOnly<T> {
  /**
   * Writes at once when the last write is long enough ago; otherwise the value waits, and replaces one that waits already. Rejects only with what
   * the write at once rejects with.
   */
  put(value: T): Promise<void>;
  /** Writes what waits, and waits for the write under way. Rejects with what that rejects with. */
  flush(): Promise<void>;
}

/** Spaces writes out by at least `everyMs`, and drops all that were replaced before their turn; never the last one. */
export function latestOnly<T>(write: (value: T) => Promise<void>, everyMs: number): LatestOnly<T> {
  let waiting: { readonly value: T } | undefined;
  let writing: Promise<void> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const writeWaiting = (): Promise<void> => {
    const next = waiting;
    if (next === undefined) return Promise.resolve();
    waiting = undefined;
    const ended = write(next.value).finally(() => {
      writing = undefined;
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = undefined;
        writeWaiting().catch(() => undefined); // whoever puts or flushes next meets the same trouble
      }, everyMs);
    });
    writing = ended;
    return ended;
  };
  return {
    async put(value) {
      waiting = { value };
      if (writing === undefined && timer === undefined) await writeWaiting();
    },
    async flush() {
      await writing?.catch(() => undefined);
      try {
        await writeWaiting();
      } finally {
        clearTimeout(timer);
        timer = undefined;
      }
    },
  };
}
