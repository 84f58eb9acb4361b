const pattern =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * The UTC instant of an RFC 3339 timestamp, cut to microseconds, as `YYYY-MM-DDTHH:MM:SS.ffffffZ`; undefined when the text
 * is none, when the date does not exist, or when the instant lies outside the years 0001..9999.
 *
 * A leap second is accepted where one can be, at the end of a UTC day, and names the instant after it.
 */
export function utcInstant(text: string): string | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [offsetHour = 0, offsetMinute = 0] = [match[9], match[10]].map((part) => Number(part ?? 0));
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return undefined;

  const offset = (match[8] === "-" ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute - offset, second, 0);
  if (second === 60 && (date.getUTCHours() !== 0 || date.getUTCMinutes() !== 0)) return undefined;
  if (date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) return undefined;

  const micros = (match[7] ?? "").slice(0, 6).padEnd(6, "0");
  return `${date.toISOString().slice(0, 19)}.${micros}Z`;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
