import { refuse } from "../../canonical/pointer-text.ts";
import type { Member } from "../../canonical/read-record.ts";

/** A well-formed text of so many UTF-16 code units. @throws TypeError naming the place */
export function readText({ value, at }: Member, minimum: number, maximum: number): string {
  if (typeof value !== "string") return refuse(at, "expected a text");
  if (value.length < minimum || value.length > maximum)
    return refuse(at, `expected ${minimum}..${maximum} characters, got ${value.length}`);
  return value.isWellFormed() ? value : refuse(at, "a lone surrogate");
}
