import type { JsonValue } from "../../capability/index.ts";
import { type JsonLimits, ownJson } from "../canonical/own-json.ts";
import { refuse } from "../canonical/pointer-text.ts";
import { type Member, readList, readRecord } from "../canonical/read-record.ts";
import type { JobConfigurationInput } from "./job-submit-input.ts";
import { isPresent, parseJsonPointer } from "./json-pointer.ts";
import { readDigest } from "./read-parts.ts";

/** How large a configuration may be. */
export const configurationLimits: Required<JsonLimits> = {
  depth: 128,
  nodes: 100_000,
  textLength: 1_048_576,
  totalTextLength: 4_194_304,
};

/** Most explicit pointers of a configuration. */
export const POINTER_COUNT_LIMIT = 10_000;

/** An owned, deeply frozen configuration as a caller gave it. @throws TypeError naming the place */
export function readConfiguration(member: Member): JobConfigurationInput {
  const { value, explicitPointers, expectedEffectiveDigest } = readRecord(
    member,
    ["value", "explicitPointers"],
    ["expectedEffectiveDigest"],
  );
  const owned = ownJson(value.value, configurationLimits, value.at);
  return Object.freeze({
    value: owned,
    explicitPointers: readPointers(explicitPointers, owned),
    ...(expectedEffectiveDigest && { expectedEffectiveDigest: readDigest(expectedEffectiveDigest) }),
  });
}

function readPointers(member: Member, value: JsonValue): readonly string[] {
  const pointers = new Set<string>();
  let length = 0;
  for (const { value: pointer, at } of readList(member, POINTER_COUNT_LIMIT)) {
    if (typeof pointer !== "string") return refuse(at, "expected a text");
    length += pointer.length;
    // Ten thousand pointers may share one long beginning: following each of them would take minutes.
    if (length > configurationLimits.totalTextLength)
      return refuse(
        at,
        `more than ${configurationLimits.totalTextLength} characters in all pointers together`,
      );
    const problem = pointerProblem(pointer, value);
    if (problem !== undefined) return refuse(at, problem);
    if (pointers.has(pointer)) return refuse(at, "the same pointer stands twice");
    pointers.add(pointer);
  }
  return Object.freeze([...pointers]);
}

function pointerProblem(pointer: string, value: JsonValue): string | undefined {
  const tokens = parseJsonPointer(pointer);
  if (tokens === undefined) return "not a JSON pointer";
  if (tokens.some((token) => unsafeTokens.has(token)))
    return "a pointer may not name __proto__, constructor or prototype";
  return isPresent(value, tokens) ? undefined : "the pointer leads to nothing in the value";
}

/** Whoever follows a pointer by plain property access would leave the data. */
const unsafeTokens = new Set(["__proto__", "constructor", "prototype"]);
