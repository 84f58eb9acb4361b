import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonSchema, JsonValue } from "../../capability/index.ts";
import { inputSchemaOf } from "./input-schema-of.ts";

/**
 * The first member of an input that says who calls, if there is one. `actor` always does; a name such as `subjectId` does unless the
 * schema declares it, as then it is what the operation is about. An input that nobody asked for must not pass for an identity.
 */
export async function actorIn(schema: StandardSchemaV1, input: JsonValue): Promise<string | undefined> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return undefined;
  const suspects = Object.keys(input).filter((key) => actorNames.has(normal(key)));
  if (suspects.length === 0) return undefined;
  const { schema: document } = await inputSchemaOf(schema);
  return suspects.find((key) => normal(key) === "actor" || !declares(document, key));
}

const actorNames: ReadonlySet<string> = new Set(
  ["actor", "caller", "principal", "subject", "realm", "tenant", "user"]
    .flatMap((name) => [name, `${name}id`])
    .concat("identity", "session", "onbehalfof"),
);

/** One spelling for `subjectId`, `subject_id` and `SubjectID`. */
function normal(key: string): string {
  return key.toLowerCase().replaceAll(/[_-]/g, "");
}

function declares(document: JsonSchema | null | undefined, key: string): boolean {
  if (typeof document !== "object" || document === null) return false;
  const { properties, anyOf, oneOf, allOf } = document as {
    readonly properties?: object;
    readonly [alternatives: string]: unknown;
  };
  if (properties && Object.hasOwn(properties, key)) return true;
  return [anyOf, oneOf, allOf].flat().some((part) => declares(part as JsonSchema | undefined, key));
}
