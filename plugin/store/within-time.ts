/** Waits for some work, but no longer than that many milliseconds. The work itself goes on. */
export async function withinTime(milliseconds: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([work, timeUp]).finally(() => clearTimeout(timer));
}
