/** The time before try `failures + 1`, in ms: doubling from `firstMs` up to `capMs`, half of it left to chance. */
export function backoffMs(
  failures: number,
  { firstMs = 100, capMs = 10_000 }: { readonly firstMs?: number; readonly capMs?: number } = {},
): number {
  const whole = Math.min(capMs, firstMs * 2 ** Math.min(failures - 1, 30));
  return whole * (0.5 + Math.random() / 2);
}
