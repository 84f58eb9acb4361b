import type { JsonValue } from "../../job-provider/index.ts";

/**
 * Pointers to all that a written configuration says: whoever wrote a member supplied it on purpose, also when it is null, 0 or empty. Objects
 * are gone through, so that defaults fill the members that they lack; an array is one thing.
 */
export function explicitPointersOf(value: JsonValue): string[] {
  const pointers: string[] = [];
  const pending: { readonly at: string; readonly value: JsonValue }[] = [{ at: "", value }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { at, value: found } = next;
    if (typeof found !== "object" || found === null || Array.isArray(found)) pointers.push(at);
    else
      for (const [key, member] of Object.entries(found as Readonly<Record<string, JsonValue>>))
        pending.push({ at: `${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`, value: member });
  }
  return pointers.sort(); // the order counts in the request's digest, and that of a file's members should not
}
