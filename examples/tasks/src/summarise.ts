import type { ReportRow } from "./report-input.ts";

/** The figures of some rows, in cents. */
export interface Figures {
  readonly count: number;
  readonly sum: number;
  readonly smallest: number;
  readonly largest: number;
  /** Rounded to whole cents. */
  readonly mean: number;
}

/** What a report says. */
export interface Summary {
  readonly all: Figures;
  /** Labels in the order of their first row. */
  readonly byLabel: readonly ({ readonly label: string } & Figures)[];
}

/** Sums up one row or more. The same rows always give the same summary, whoever computes it and however often. */
export function summarise(rows: readonly ReportRow[]): Summary {
  const groups = Map.groupBy(rows, ({ label }) => label);
  return {
    all: figuresOf(rows),
    byLabel: Array.from(groups, ([label, group]) => ({ label, ...figuresOf(group) })),
  };
}

function figuresOf(rows: readonly ReportRow[]): Figures {
  const amounts = rows.map(({ amountCents }) => amountCents);
  const sum = amounts.reduce((total, amount) => total + amount, 0);
  return {
    count: amounts.length,
    sum,
    smallest: Math.min(...amounts),
    largest: Math.max(...amounts),
    mean: Math.round(sum / amounts.length),
  };
}
