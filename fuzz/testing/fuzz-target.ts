import { inspect } from "node:util";

/** A public boundary that is given anything. */
export interface FuzzTarget {
  readonly name: string;
  /** Its part of the inputs, against the others' parts. */
  readonly share: number;
  /**
   * A property of fast-check: the inputs, and the rule that each must pass. Its type is as wide as the inputs differ. It tells each
   * answer to `reach`, by a short name.
   */
  readonly property: (reach: (answer: string) => void) => unknown;
  /**
   * How often at least, of a thousand inputs, each answer comes: far less than is usual, so that chance can't miss it. Inputs that all end at the first
   * check would find nothing behind it.
   */
  readonly leastOfThousand: Readonly<Record<string, number>>;
}

/** What stands in for a secret in the inputs; written in parts, so that no line of source has it. */
export const canary: string = `${"CANARY"}-${"f00dfeedbeef"}`;

/** @throws Error when a secret is to be seen in what came out, however it is printed. */
export function expectNoCanary(...printed: readonly unknown[]): void {
  for (const value of printed) {
    for (const text of formsOf(value)) {
      if (text.includes(canary.slice(7))) throw new Error("a secret came out in a printed form");
    }
  }
}

function formsOf(value: unknown): string[] {
  const forms = [inspect(value, { depth: 10, showHidden: false })];
  if (value instanceof Error) forms.push(String(value), value.message, JSON.stringify(value));
  else if (typeof value === "string") forms.push(value);
  return forms;
}
