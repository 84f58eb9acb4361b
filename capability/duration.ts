const pattern =
  /^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$/;

/** Milliseconds of an ISO 8601 duration (`PT2.5S`, `P1DT1H`), a year as 365 days and a month as 30, or undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  const match = pattern.exec(text);
  if (match === null || text.endsWith("P") || text.endsWith("T")) return undefined;
  const parts = match.slice(1).map((part) => Number((part ?? "0").replace(",", ".")));
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts;
  const allDays = years * 365 + months * 30 + weeks * 7 + days;
  return ((allDays * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1000;
}

/** An ISO 8601 duration in seconds for that many milliseconds, never negative. */
export function formatDuration(milliseconds: number): string {
  return `PT${(Math.max(0, Math.round(milliseconds)) / 1000).toFixed(3)}S`;
}
