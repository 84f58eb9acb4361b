const pending: (() => Promise<void>)[] = [];

/**
 * Runs after all `afterAll` hooks of the test file (of the last file, when files share a process). Bun runs `afterAll`
 * hooks in the order of registration, so what has to be last cannot be one of them.
 */
export function afterTestFile(action: () => Promise<void>): void {
  pending.push(action);
}

/** For the preload alone. Runs every action, the last first, and throws what failed. */
export async function runAfterTestFile(): Promise<void> {
  const failures: unknown[] = [];
  for (const action of pending.splice(0).reverse()) {
    await action().catch((error: unknown) => failures.push(error));
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1)
    throw new AggregateError(failures, `${failures.length} actions failed after the test file`);
}
