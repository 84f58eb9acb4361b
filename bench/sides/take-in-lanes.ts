/** What {@link takeInLanes} needs of a queue. */
export interface TakeInLanes {
  readonly lanes: number;
  /** Takes jobs and ends them, no more once the signal aborts; answers how many, 0 when there was none. */
  take(stopping: AbortSignal): Promise<number>;
  /** Resolves when there may be a job again, or once the signal aborts. */
  wait(signal: AbortSignal): Promise<void>;
}

/** Takes jobs in concurrent loops until the returned function is called. Loops that found nothing share one wait. */
export function takeInLanes(queue: TakeInLanes): () => Promise<void> {
  const stopping = new AbortController();
  let waiting: Promise<void> | undefined;
  const wait = (): Promise<void> => {
    waiting ??= queue.wait(stopping.signal).finally(() => {
      waiting = undefined;
    });
    return waiting;
  };
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) if ((await queue.take(stopping.signal)) === 0) await wait();
  };
  const running = Promise.all(Array.from({ length: queue.lanes }, loop));
  return async () => {
    stopping.abort();
    await running;
  };
}
