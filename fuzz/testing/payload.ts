import * as fc from "fast-check";
import { canonicalJson, NotPortableJson } from "../../plugin/operations/canonical-json.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { armed, hostileValue } from "./hostile-values.ts";

const payloads = fc.oneof(
  hostileValue,
  fc.jsonValue({ maxDepth: 6 }),
  fc.dictionary(fc.string(), hostileValue),
);

/** Payloads: each is refused, or has one canonical text that means the same. */
export const payload: FuzzTarget = {
  name: "payloads",
  share: 3,
  property: () =>
    fc.property(payloads, (value) => {
      let text: string;
      try {
        text = canonicalJson(armed(value));
      } catch (error) {
        // An object that throws when it is read is its owner's error, and the operation that reads it says nothing of it.
        if (error instanceof NotPortableJson) expectNoCanary(error);
        else if (!(error instanceof Error && error.message === canary) && !(error instanceof TypeError))
          throw error;
        return;
      }
      const again: unknown = JSON.parse(text);
      if (canonicalJson(again) !== text)
        throw new Error("the canonical text of a canonical text is another one");
      if (hasNull(again) || !text.isWellFormed())
        throw new Error("a text that PostgreSQL cannot hold was taken");
    }),
};

function hasNull(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\u0000");
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, member]) => key.includes("\u0000") || hasNull(member));
}
