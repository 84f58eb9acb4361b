import { atEndpoint, isFields, refusing, rewriting } from "./endpoints.ts";
import type { Mutant } from "./mutant.ts";

const plainOnly = "what is no plain data is refused";
const fieldsOnly = "an object with more than its plain fields is refused";
const holes = "an array with holes is refused";
const texts = "U+0000 and lone surrogates are refused, in keys and in strings";
const builtIn = [Date, Map, Uint8Array, Number, String, Boolean];

/** A mutant that takes some values in payloads for others. */
function taking(name: string, killer: string, take: (value: unknown) => unknown): Mutant {
  return rewriting(name, killer, (fields, operation) =>
    operation === "enqueue" ? { ...fields, payload: deeply(fields["payload"], take) } : fields,
  );
}

/** The value with others in it; where there are none, the very same. */
function deeply(value: unknown, take: (value: unknown) => unknown, depth = 0): unknown {
  const taken = take(value);
  if (taken !== value || depth > 80 || typeof value !== "object" || value === null) return taken;
  if (Array.isArray(value)) {
    const list = value.map((each) => deeply(each, take, depth + 1)); // holes stay holes
    return list.some((each, index) => each !== value[index]) ? list : value;
  }
  if (!isPlain(value)) return value;
  const before = Object.entries(value);
  const after = before.map(([key, each]) => [key, deeply(each, take, depth + 1)] as const);
  return after.some(([, each], index) => each !== before[index]?.[1]) ? Object.fromEntries(after) : value;
}

const isPlain = (value: unknown): value is object =>
  isFields(value) && Object.getPrototypeOf(value) === Object.prototype;

const isInstance = (value: unknown): value is object =>
  isFields(value) && !builtIn.some((type) => value instanceof type) && !isPlain(value);

const hasGetter = (value: object): boolean =>
  Object.values(Object.getOwnPropertyDescriptors(value)).some(({ get }) => get !== undefined);

function holdsItself(value: unknown, outer: readonly unknown[] = []): boolean {
  if (typeof value !== "object" || value === null || outer.length > 80) return false;
  return outer.includes(value) || Object.values(value).some((each) => holdsItself(each, [...outer, value]));
}

function someText(value: unknown, matches: (text: string) => boolean): boolean {
  if (typeof value === "string") return matches(value);
  return typeof value === "object" && value !== null
    ? Object.values(value).some((each) => someText(each, matches))
    : false;
}

/** What is no plain data, taken for data. */
export const plainDataMutants: readonly Mutant[] = [
  taking("a class's instance is taken as its fields", plainOnly, (value) =>
    isInstance(value) ? { ...value } : value,
  ),
  taking("boxed values are unboxed", plainOnly, (value) =>
    value instanceof Number || value instanceof String || value instanceof Boolean ? value.valueOf() : value,
  ),
  taking("holes are null", holes, (value) =>
    Array.isArray(value) && Object.keys(value).length < value.length
      ? Array.from(value, (each: unknown) => each ?? null)
      : value,
  ),
  taking("toJSON is called", fieldsOnly, (value) =>
    isPlain(value) && Object.hasOwn(value, "toJSON") ? JSON.stringify(value) : value,
  ),
  taking("symbols and hidden fields are left out", fieldsOnly, (value) =>
    isPlain(value) && Reflect.ownKeys(value).length > Object.keys(value).length
      ? Object.fromEntries(Object.entries(value))
      : value,
  ),
  taking("getters are read", fieldsOnly, (value) =>
    isPlain(value) && hasGetter(value) ? { ...value } : value,
  ),
  atEndpoint(
    "a payload that holds itself is a failure of the provider's",
    "a payload that holds itself is refused",
    ({ operation, context, payload, fields }, inner) =>
      operation === "enqueue" && holdsItself(fields["payload"])
        ? { kind: "runtime", failure: { kind: "plugin_failure", detail: "too much recursion" } }
        : inner(operation, context, payload),
  ),
  taking("a lone surrogate is replaced where other characters go before it", texts, (value) =>
    typeof value === "string" && /^[^\ud800-\udfff]/.test(value) ? value.toWellFormed() : value,
  ),
  taking("U+0000 is cut off from the end", texts, (value) =>
    typeof value === "string" && value.length > 1 && value.endsWith("\0") ? value.slice(0, -1) : value,
  ),
  refusing(
    "control characters that have no short escape are refused",
    "a payload comes back as it went",
    "enqueue",
    "invalid_job",
    (f) =>
      someText(f["payload"], (text) =>
        text.split("").some((each) => each > "\0" && each < " " && !/[\s\b]/.test(each)),
      ),
  ),
];
