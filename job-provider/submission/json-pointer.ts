import type { JsonValue } from "../../capability/index.ts";

/** The tokens of a JSON pointer (RFC 6901), decoded, or undefined when the text is none. The empty pointer is the whole value. */
export function parseJsonPointer(pointer: string): readonly string[] | undefined {
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Whether the tokens lead to a place in the value, by own members and canonical array indices within range. */
export function isPresent(value: JsonValue, tokens: readonly string[]): boolean {
  let current: JsonValue | undefined = value;
  for (const token of tokens) {
    if (typeof current !== "object" || current === null) return false;
    if (Array.isArray(current) && !/^(0|[1-9]\d*)$/.test(token)) return false;
    if (!Object.hasOwn(current, token)) return false;
    current = (current as { readonly [key: string]: JsonValue })[token];
  }
  return true;
}
