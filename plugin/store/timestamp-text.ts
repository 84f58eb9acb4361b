/**
 * RFC 3339 with microseconds from what PostgreSQL prints for a timestamptz in UTC and ISO style: `2026-01-02 03:04:05.6+00`
 * becomes `2026-01-02T03:04:05.600000Z`.
 */
export function rfc3339(text: string): string {
  const [whole = "", fraction = ""] = text.slice(0, text.length - 3).split(".");
  return `${whole.replace(" ", "T")}.${fraction.padEnd(6, "0")}Z`;
}
