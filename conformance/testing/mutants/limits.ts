import { atEndpoint, domain, isFields, refusing, rewriting } from "./endpoints.ts";
import type { Mutant } from "./mutant.ts";

const kinds = "a kind has 1 to 256 characters";
const keys = "an idempotency key has 1 to 256 characters";
const codes = "a failure code has 1 to 128 characters";
const counts = "max_attempts is an integer from 1 to 100";
const sizes = "a payload has at most 262144 bytes of compact JSON";
const bytes = "a payload's size counts bytes of UTF-8, escapes and keys included";
const names = "names have letters, digits and . _ - : / of ASCII only";
const depths = "a payload is at most 64 deep, of objects and of arrays, whatever scalar is in the last";
const bytesOf = (payload: unknown): number => Buffer.byteLength(jsonOf(payload));

/** A mutant that takes a value which it should refuse, as if it were another. */
function taking(
  field: string,
  what: string,
  killer: string,
  isWrong: (value: unknown) => boolean,
  instead: (value: unknown) => unknown,
): Mutant {
  return rewriting(`${field} may be ${what}`, killer, (fields, operation) =>
    (operation === "enqueue" || operation === "fail") && field in fields && isWrong(fields[field])
      ? { ...fields, [field]: instead(fields[field]) }
      : fields,
  );
}

const long = (length: number) => (value: unknown) => typeof value === "string" && value.length === length;
const cut = (value: unknown) => String(value).slice(0, -1);

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

/** Nothing for what is no JSON, which the endpoint refuses by itself. */
function jsonOf(payload: unknown): string {
  try {
    return JSON.stringify(payload) ?? "";
  } catch {
    return "";
  }
}

/** The depth, where filled arrays or scalars count for more than they should. */
function weightOf(value: unknown, array: number, scalar: number): number {
  if (typeof value !== "object" || value === null) return scalar;
  const own = Array.isArray(value) && value.length > 0 ? array : 1;
  return own + Math.max(0, ...Object.values(value).map((each) => weightOf(each, array, scalar)));
}

/** Limits that are off by one, or missing. */
export const limitMutants: readonly Mutant[] = [
  taking("kind", "one character too long", kinds, long(257), cut),
  taking("kind", "empty", kinds, long(0), () => "k"),
  taking("idempotency_key", "one character too long", keys, long(257), cut),
  taking("idempotency_key", "empty", keys, long(0), () => "k"),
  taking("failure_code", "one character too long", codes, long(129), cut),
  taking("failure_code", "empty", codes, long(0), () => "c"),
  taking(
    "max_attempts",
    "101",
    counts,
    (value) => value === 101,
    () => 100,
  ),
  taking(
    "max_attempts",
    "0",
    counts,
    (value) => value === 0,
    () => 1,
  ),
  taking("max_attempts", "a fraction", counts, (value) => !Number.isInteger(value), Math.floor as never),
  taking(
    "payload",
    "one byte too large",
    sizes,
    (value) => bytesOf(value) === 262_145,
    () => ({}),
  ),
  taking(
    "payload",
    "as large as its characters allow",
    bytes,
    (value) => bytesOf(value) > 262_144 && JSON.stringify(value).length <= 262_144,
    () => ({}),
  ),
  taking(
    "payload",
    "as large as its texts allow without their escapes",
    bytes,
    (value) =>
      bytesOf(value) > 262_144 &&
      bytesOf(value) - (JSON.stringify(value).match(/\\/g)?.length ?? 0) <= 262_144,
    () => ({}),
  ),
  taking(
    "payload",
    "65 deep",
    depths,
    (value) => depthOf(value) === 65,
    () => ({}),
  ),
  taking(
    "kind",
    "of any characters",
    names,
    (value) => /[^\w.:/-]/.test(String(value)),
    (value) => String(value).replace(/[^\w.:/-]/gu, "_"),
  ),
  taking(
    "failure_code",
    "a text with a line's end behind it",
    names,
    (value) => String(value) === "a\n",
    () => "a",
  ),
  refusing("a kind has at most 255 characters", kinds, "enqueue", "invalid_job", (f) => long(256)(f["kind"])),
  refusing("a key has at most 255 characters", keys, "enqueue", "invalid_job", (f) =>
    long(256)(f["idempotency_key"]),
  ),
  refusing("a code has at most 127 characters", codes, "fail", "invalid_failure", (f) =>
    long(128)(f["failure_code"]),
  ),
  refusing("max_attempts is at most 99", counts, "enqueue", "invalid_job", (f) => f["max_attempts"] === 100),
  refusing(
    "a payload has less than 262144 bytes",
    sizes,
    "enqueue",
    "invalid_job",
    (f) => bytesOf(f["payload"]) === 262_144,
  ),
  refusing(
    "a payload is at most 63 deep",
    depths,
    "enqueue",
    "invalid_job",
    (f) => depthOf(f["payload"]) === 64,
  ),
  refusing(
    "a scalar is a level of its own",
    depths,
    "enqueue",
    "invalid_job",
    (f) => weightOf(f["payload"], 1, 1) > 64,
  ),
  refusing(
    "a filled array is two levels",
    depths,
    "enqueue",
    "invalid_job",
    (f) => weightOf(f["payload"], 2, 0) > 64,
  ),
  refusing("a control character counts 8 bytes", bytes, "enqueue", "invalid_job", (f) => {
    const controls = jsonOf(f["payload"]).match(/\\u00/g)?.length ?? 0;
    return bytesOf(f["payload"]) + 2 * controls > 262_144;
  }),
  taking(
    "payload",
    "as large as its bytes allow without its long keys",
    bytes,
    (value) => {
      const keys = isFields(value) ? Object.keys(value).filter((key) => key.length > 1000) : [];
      const keyBytes = Buffer.byteLength(keys.join(""));
      return bytesOf(value) > 262_144 && bytesOf(value) - keyBytes <= 262_144;
    },
    () => ({}),
  ),
  refusing(
    "a queue's name has at most 127 characters",
    "a queue's name has up to 128 characters, and their case counts",
    "enqueue",
    "invalid_job",
    (f) => long(128)(f["queue"]),
  ),
  refusing("a kind has no slash", names, "enqueue", "invalid_job", (f) => String(f["kind"]).includes("/")),
  (() => {
    const taken = new WeakMap<object, Set<unknown>>();
    return atEndpoint(
      "a refused request takes its key",
      "a refused request stores nothing and takes no key",
      async ({ operation, context, payload, fields, model }, inner) => {
        const keysTaken = taken.get(model) ?? new Set();
        taken.set(model, keysTaken);
        const key = fields["idempotency_key"];
        if (operation === "enqueue" && keysTaken.has(key)) return domain("idempotency_conflict");
        const outcome = await inner(operation, context, payload);
        if (outcome.kind === "domain" && outcome.value === "invalid_job" && isFields(payload))
          keysTaken.add(key);
        return outcome;
      },
    );
  })(),
];
