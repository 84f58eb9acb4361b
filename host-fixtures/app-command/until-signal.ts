/** Aborts at the first SIGINT or SIGTERM. A second one ends the process at once, as it would without this. */
export function untilSignal(): { readonly signal: AbortSignal; readonly forget: () => void } {
  const controller = new AbortController();
  const abort = (): void => {
    forget();
    controller.abort();
  };
  const forget = (): void => {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, abort);
  };
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, abort);
  return { signal: controller.signal, forget };
}
