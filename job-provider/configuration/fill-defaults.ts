import type { JsonObject, JsonValue } from "../../capability/index.ts";
import { parseJsonPointer } from "../submission/json-pointer.ts";

/**
 * A value with defaults where its caller supplied nothing on purpose. What a pointer names stays as it is, whole, also when it is null, 0,
 * false or empty. Elsewhere a default replaces what stands there; objects are filled member by member, and an array is one thing: a pointer
 * into it keeps all of it. Without a default the value's own stays.
 */
export function fillDefaults(
  value: JsonValue,
  defaults: JsonValue | undefined,
  explicitPointers: readonly string[],
): JsonValue {
  if (defaults === undefined) return value;
  const supplied: Marks = { members: new Map() };
  for (const pointer of explicitPointers) mark(supplied, parseJsonPointer(pointer) ?? []);
  return fill(value, defaults, supplied);
}

/** The pointers as a tree. A place without marks in or under it has no node. */
interface Marks {
  readonly members: Map<string, Marks>;
  whole?: true;
}

function mark(root: Marks, tokens: readonly string[]): void {
  let node = root;
  for (const token of tokens) {
    const next = node.members.get(token) ?? { members: new Map() };
    node.members.set(token, next);
    node = next;
  }
  node.whole = true;
}

function fill(value: JsonValue, preset: JsonValue, marks: Marks | undefined): JsonValue {
  if (marks?.whole) return value;
  if (isObject(value) && isObject(preset)) return fillMembers(value, preset, marks);
  return marks === undefined || marks.members.size === 0 ? preset : value;
}

function fillMembers(value: JsonObject, preset: JsonObject, marks: Marks | undefined): JsonValue {
  const keys = new Set([...Object.keys(preset), ...Object.keys(value)]);
  const members = [...keys].map((key): [string, JsonValue] => {
    const own = memberOf(value, key);
    const presetMember = memberOf(preset, key);
    if (own === undefined) return [key, presetMember as JsonValue];
    return [key, presetMember === undefined ? own : fill(own, presetMember, marks?.members.get(key))];
  });
  return Object.fromEntries(members);
}

function memberOf(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
