/** The slope of the line that fits the points best, by least squares. Throws for fewer than two. */
export function fitLine(points: readonly (readonly [x: number, y: number])[]): number {
  if (points.length < 2) throw new Error(`expected at least 2 points, got ${points.length}`);
  const mean = (of: (point: readonly [number, number]) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [meanX, meanY] = [mean(([x]) => x), mean(([, y]) => y)];
  const covariance = mean(([x, y]) => (x - meanX) * (y - meanY));
  return covariance / mean(([x]) => (x - meanX) ** 2);
}
