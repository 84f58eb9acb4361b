import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonValue } from "../capability/index.ts";
import { copyPlainJson, type JsonLimits, shownKey } from "./json-value.ts";

/** A schema said no. The message names places only; what the schema said of them, which may quote the input, is in `issues`. */
export class RefusedBySchema extends Error {
  override readonly name = "RefusedBySchema";
  declare readonly issues: readonly StandardSchemaV1.Issue[];

  constructor(issues: readonly StandardSchemaV1.Issue[]) {
    super(`the schema refuses ${[...new Set(issues.map(placeOf))].slice(0, 10).join(", ")}`);
    Object.defineProperty(this, "issues", { value: issues, enumerable: false });
  }
}

/**
 * What the schema makes of stored JSON, which must be plain JSON again. The schema works on a copy of its own.
 *
 * @throws RefusedBySchema, NotPlainJson, or whatever the schema throws.
 */
export async function validateInput(
  schema: StandardSchemaV1,
  raw: JsonValue,
  limits: JsonLimits,
): Promise<JsonValue> {
  const result = await schema["~standard"].validate(copyPlainJson(raw, limits));
  if (result.issues) throw new RefusedBySchema(result.issues);
  return copyPlainJson(result.value, limits);
}

export function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false; // arktype's are functions
  const standard = (value as Partial<StandardSchemaV1>)["~standard"];
  return standard?.version === 1 && typeof standard.validate === "function";
}

function placeOf({ path = [] }: StandardSchemaV1.Issue): string {
  return path.reduce<string>((place, segment) => {
    const key = typeof segment === "object" ? segment.key : segment;
    return typeof key === "number" ? `${place}[${key}]` : `${place}.${shownKey(String(key))}`;
  }, "$");
}
