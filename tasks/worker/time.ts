/** The monotonic clock and the timers of a worker, for tests to drive. */
export interface WorkerTime {
  /** Milliseconds on a monotonic clock: the one that a claim's `sentAt` was taken from. */
  now(): number;
  /** Runs something once, that many ms from now. Returns a function that calls it off. */
  after(ms: number, run: () => void): () => void;
}

/** `performance.now()` and the process's timers. */
export const processTime: WorkerTime = { now: () => performance.now(), after: setLongTimeout };

/** The longest delay that a timer takes; a longer one would overflow and fire at once. */
const longestDelay = 2 ** 31 - 1;

/** `setTimeout` for any length of time: it is armed again until the time has come. Returns a function that calls it off. */
export function setLongTimeout(ms: number, run: () => void): () => void {
  const due = performance.now() + ms;
  let timer: ReturnType<typeof setTimeout>;
  const arm = (left: number): void => {
    timer = setTimeout(
      () => {
        const rest = due - performance.now();
        if (left > longestDelay && rest > 0) arm(rest);
        else run();
      },
      Math.min(Math.max(0, left), longestDelay),
    );
  };
  arm(ms);
  return () => clearTimeout(timer);
}

/** Resolves after that many ms, or as soon as the signal aborts. */
export function pause(time: WorkerTime, ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal?.aborted) return Promise.resolve();
  const end = (): void => {
    callOff();
    signal?.removeEventListener("abort", end);
    resolve();
  };
  const callOff = time.after(ms, end);
  signal?.addEventListener("abort", end, { once: true });
  return promise;
}

/** A call that gave no answer in time. It may still take effect. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** The call's own answer, or a rejection with {@link NoAnswer} when it takes longer. */
export function answerWithin<T>(time: WorkerTime, ms: number, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const callOff = time.after(ms, () => reject(new NoAnswer(`no answer within ${Math.round(ms)} ms`)));
    const answered = (value: T): void => {
      callOff();
      resolve(value);
    };
    const failed = (error: Error): void => {
      callOff();
      reject(error);
    };
    try {
      call().then(answered, failed);
    } catch (error) {
      failed(error as Error); // a call that throws at once rejects like any other
    }
  });
}
