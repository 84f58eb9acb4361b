/** Rejects when the promise takes longer. What comes later goes to `late`, or is dropped. */
export async function withDeadline<T>(
  promise: Promise<T>,
  milliseconds: number,
  message: string,
  late?: (value: T) => void,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let over = false;
  const timeUp = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      over = true;
      reject(new Error(`${message} (${milliseconds} ms)`));
    }, milliseconds);
  });
  promise.then(
    (value) => {
      if (over) late?.(value);
    },
    () => {},
  );
  try {
    return await Promise.race([promise, timeUp]);
  } finally {
    clearTimeout(timer);
  }
}
