import type { Result } from "../run/run-scenarios.ts";
import { sides } from "../sides/catalogue.ts";
import { spreadOf } from "./median.ts";
import { showNumber } from "./show-number.ts";

const colours = {
  us: "#0f766e",
  "pg-boss": "#b45309",
  "graphile-worker": "#4f46e5",
  bullmq: "#be185d",
  floor: "#94a3b8",
} as const;

const width = 860;
const left = 190;
const right = 150;
const barHeight = 15;
const barGap = 4;
const rowGap = 34;
const top = 64;

/** A bar chart of all rows, each with a scale of its own, as a picture without scripts or fonts of its own. */
export function svgChart(results: readonly Result[], caption: string): string {
  const rows = [...new Map(results.map(({ row }) => [row.id, row])).values()];
  const parts: string[] = [];
  let y = top;
  for (const row of rows) {
    const own = results.filter((result) => result.row.id === row.id);
    const figures = own.map(({ side, values }) => ({ side, ...spreadOf(values) }));
    const longest = Math.max(...figures.map(({ highest }) => highest)) || 1;
    const scale = (value: number): number => Math.max(1, (value / longest) * (width - left - right));
    parts.push(
      `<text x="16" y="${y}" class="row">${escape(row.title)}, ${escape(row.unit)} <tspan class="note">(${row.better} is better)</tspan></text>`,
    );
    y += 10;
    for (const { side, median, lowest, highest } of figures) {
      const middle = y + barHeight / 2;
      parts.push(
        `<text x="${left - 8}" y="${middle + 4}" class="side">${escape(side)}</text>`,
        `<rect x="${left}" y="${y}" width="${scale(median).toFixed(1)}" height="${barHeight}" rx="2" fill="${colours[sides[side].maker]}"/>`,
        `<path d="M${(left + scale(lowest)).toFixed(1)} ${middle}H${(left + scale(highest)).toFixed(1)}" class="spread"/>`,
        `<text x="${(left + scale(highest) + 6).toFixed(1)}" y="${middle + 4}" class="figure">${showNumber(median, row.unit)}</text>`,
      );
      y += barHeight + barGap;
    }
    y += rowGap;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" role="img" aria-label="Measurements side by side">
<style>text{font:13px system-ui,sans-serif;fill:#0f172a}.title{font-size:18px;font-weight:600}.row{font-weight:600}.note,.figure{fill:#475569;font-weight:400}.side{text-anchor:end}.spread{stroke:#0f172a;stroke-width:1.5;opacity:.55}</style>
<rect width="100%" height="100%" fill="#fff"/>
<text x="16" y="26" class="title">Side by side on one PostgreSQL</text>
<text x="16" y="44" class="note">${escape(caption)}</text>
${parts.join("\n")}
</svg>
`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
