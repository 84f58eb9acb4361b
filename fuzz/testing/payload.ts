import * as fc from "fast-check";
import { canonicalJson, NotPortableJson } from "../../plugin/operations/canonical-json.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { armed, asRecord, hostileValue } from "./hostile-values.ts";

const payloads = fc.oneof(
  hostileValue,
  // Right in all but one place.
  fc
    .tuple(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 }),
      fc.string(),
      hostileValue,
    )
    .map(([good, key, wrong]) => asRecord(Object.fromEntries([...Object.entries(good), [key, wrong]]))),
  fc
    .constantFrom("\u0000", "a\ud800", 2 ** 53, Number.NaN, undefined, 1n)
    .map((wrong) => [{ a: [0, wrong] }]),
  fc.integer({ min: 60, max: 70 }).map((depth) => nested(depth)),
  fc.jsonValue({ maxDepth: 6 }),
  fc.dictionary(fc.string(), hostileValue),
);

/** Payloads: each is refused, or has one canonical text that means the same. */
export const payload: FuzzTarget = {
  name: "payloads",
  share: 3,
  leastOfThousand: {
    taken: 80,
    "longer than the limit": 60,
    "lone surrogate": 10,
    "U+0000": 10,
    "nesting deeper than 64": 20,
    "integer beyond ±(2^53 − 1)": 8,
    "not a finite number": 8,
    "undefined is not JSON": 10,
    "bigint is not JSON": 10,
    "not a plain object": 10,
    "sparse array or extra property": 2,
    "accessor or hidden property": 0.5,
    "what it throws": 1,
  },
  property: (reach) =>
    fc.property(payloads, fc.nat(60), (planned, limit) => {
      const value = armed(planned);
      let text: string;
      try {
        text = canonicalJson(value);
      } catch (error) {
        // An object that throws when it is read is its owner's error, and the operation that reads it says nothing of it.
        reach(error instanceof NotPortableJson ? reasonOf(error) : "what it throws");
        if (error instanceof NotPortableJson) expectNoCanary(error);
        else if (!(error instanceof Error && error.message === canary) && !(error instanceof TypeError))
          throw error;
        if (isTakenWithin(value, limit)) throw new Error("a limit made a refused value right");
        return;
      }
      reach("taken");
      const isTaken = isTakenWithin(value, limit);
      if (!isTaken) reach("longer than the limit");
      if (isTaken !== text.length <= limit) throw new Error("a limit of the text was counted in another way");
      const again: unknown = JSON.parse(text);
      if (canonicalJson(again) !== text)
        throw new Error("the canonical text of a canonical text is another one");
      if (hasNull(again) || !text.isWellFormed())
        throw new Error("a text that PostgreSQL cannot hold was taken");
    }),
};

/** What is wrong, without its place. */
function reasonOf({ message }: NotPortableJson): string {
  return message.slice(message.lastIndexOf(": ") + 2);
}

function isTakenWithin(value: unknown, limit: number): boolean {
  try {
    canonicalJson(value, limit);
    return true;
  } catch {
    return false;
  }
}

function nested(depth: number): unknown {
  let value: unknown = [];
  for (let level = 1; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

function hasNull(value: unknown): boolean {
  if (typeof value === "string") return value.includes("\u0000");
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, member]) => key.includes("\u0000") || hasNull(member));
}
