const pattern = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/;

/** Milliseconds of an ISO 8601 duration of days and less (`PT2.5S`, `P1DT1H`), or undefined when it is not one. */
export function parseDuration(text: string): number | undefined {
  const match = pattern.exec(text);
  if (match === null || text.endsWith("P") || text.endsWith("T")) return undefined;
  const [days, hours, minutes, seconds] = match
    .slice(1)
    .map((part) => Number((part ?? "0").replace(",", ".")));
  return (((days ?? 0) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60_000 + (seconds ?? 0) * 1000;
}

/** An ISO 8601 duration in seconds for that many milliseconds, never negative. */
export function formatDuration(milliseconds: number): string {
  return `PT${(Math.max(0, Math.round(milliseconds)) / 1000).toFixed(3)}S`;
}
