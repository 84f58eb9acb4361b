/** What stands in the report for several rounds. */
export interface Spread {
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
}

/** The median of an even count is the mean of the middle two. @throws RangeError without values. */
export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError("no values");
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  const middle = sorted.length >> 1;
  return {
    median: sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2,
    lowest: at(0),
    highest: at(sorted.length - 1),
  };
}
