/** Warnings of this process that speak of one Instance. */
export interface Warnings extends Disposable {
  readonly seen: readonly string[];
}

/** Collects them from now on. */
export function warningsOf(instanceKey: string): Warnings {
  const seen: string[] = [];
  const note = (warning: Error & { code?: string }): void => {
    if (warning.code === "LENSO_JOBS_NOT_NOTIFIED" && warning.message.includes(`"${instanceKey}"`))
      seen.push(warning.message);
  };
  process.on("warning", note);
  return { seen, [Symbol.dispose]: () => void process.off("warning", note) };
}
