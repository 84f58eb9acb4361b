/** Runs some work until it has succeeded once; calls at the same time share one try, and a failure is tried anew by the next call. */
export function succeedOnce(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}
