import type { JsonValue } from "../../capability/index.ts";
import { type JsonLimits, ownJson } from "./own-json.ts";

/**
 * One text for all spellings of a JSON value: keys sorted by UTF-16 code unit, no white space. Two values have the same text exactly when
 * they are equal, so a digest of it identifies the value.
 *
 * Refused, with the place: NaN, Infinity, −0, undefined, bigint, functions, symbols, accessors, proxies, exotic prototypes, sparse arrays,
 * lone surrogates and cycles.
 *
 * @param limits for a value of somebody else's; without them a structure that shares its parts may unfold to a huge text
 * @throws TypeError naming the JSON pointer
 */
export function canonicalJson(value: unknown, limits?: JsonLimits): string {
  return writeJson(ownJson(value, limits));
}

/** A step of writing: a text, or a value that is still to be written. */
type Step = { readonly text: string } | { readonly value: JsonValue };

/** With a stack of its own, as {@link ownJson} walks: depth is the caller's business. */
function writeJson(root: JsonValue): string {
  const parts: string[] = [];
  const steps: Step[] = [{ value: root }];
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    if ("text" in step) parts.push(step.text);
    else if (typeof step.value !== "object" || step.value === null) parts.push(JSON.stringify(step.value));
    else for (const next of stepsOf(step.value).reverse()) steps.push(next);
  }
  return parts.join("");
}

function stepsOf(container: JsonValue & object): Step[] {
  if (Array.isArray(container)) {
    const members = (container as readonly JsonValue[]).flatMap((value, index): Step[] => [
      { text: index === 0 ? "" : "," },
      { value },
    ]);
    return [{ text: "[" }, ...members, { text: "]" }];
  }
  const object = container as { readonly [key: string]: JsonValue };
  const members = Object.keys(object)
    .sort()
    .flatMap((key, index): Step[] => [
      { text: `${index === 0 ? "" : ","}${JSON.stringify(key)}:` },
      { value: object[key] as JsonValue },
    ]);
  return [{ text: "{" }, ...members, { text: "}" }];
}
