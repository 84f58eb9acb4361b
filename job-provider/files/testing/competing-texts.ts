/** What every competing writer puts. */
export function competingTexts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `content ${index} `.repeat(2_000));
}
