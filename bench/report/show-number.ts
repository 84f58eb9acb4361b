/** A figure as people read it: three significant digits, thousands apart, bytes in their units. */
export function showNumber(value: number, unit = ""): string {
  if (!Number.isFinite(value)) return "–";
  if (unit === "bytes" && value >= 10_000) {
    const mebi = value / 1024 / 1024;
    return mebi >= 1 ? `${showNumber(mebi)} MiB` : `${showNumber(value / 1024)} KiB`;
  }
  if (Math.abs(value) < 100) return String(Number(value.toPrecision(3)));
  return Math.round(Math.abs(value) < 1000 ? value : Number(value.toPrecision(4)))
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, " ");
}
