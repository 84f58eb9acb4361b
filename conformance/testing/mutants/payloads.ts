import type { JsonObject } from "../../../capability/index.ts";
import { atEndpoint, isFields, rewriting } from "./endpoints.ts";
import { inStore, type Mutant } from "./mutant.ts";

/** A mutant that makes something storable of payloads, where it should refuse them. */
function mending(name: string, killer: string, mend: (value: unknown) => unknown): Mutant {
  return rewriting(name, killer, (fields, operation) =>
    operation === "enqueue" && isFields(fields["payload"])
      ? { ...fields, payload: deeply(fields["payload"], mend) }
      : fields,
  );
}

function deeply(value: unknown, mend: (value: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => deeply(each, mend));
  if (!isFields(value) || Object.getPrototypeOf(value) !== Object.prototype) return mend(value);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [String(mend(key)), deeply(each, mend)]),
  );
}

/** A mutant that hands out another payload than was enqueued. */
function handingOut(name: string, killer: string, change: (payload: string) => string): Mutant {
  return inStore(name, killer, (model) => ({
    async claim(request, call) {
      const job = await model.store.claim(request, call);
      return job && { ...job, payload: change(job.payload) };
    },
  }));
}

const asItWent = "a payload comes back as it went";
const surrogates = "U+0000 and lone surrogates are refused, in keys and in strings";

/** Payloads that are mended, changed or read late. */
export const payloadMutants: readonly Mutant[] = [
  mending("large integers are rounded", "integers lie within ±(2^53 − 1)", (value) =>
    Number.isInteger(value) && !Number.isSafeInteger(value) ? Number.MAX_SAFE_INTEGER : value,
  ),
  mending("NaN and infinities become null", "a number that is not finite is refused", (value) =>
    typeof value === "number" && !Number.isFinite(value) ? null : value,
  ),
  mending("U+0000 is left out", surrogates, (value) =>
    typeof value === "string" ? value.replaceAll("\0", "") : value,
  ),
  mending("lone surrogates are replaced", surrogates, (value) =>
    typeof value === "string" ? value.toWellFormed() : value,
  ),
  mending("what is no data becomes a text or nothing", "what is no plain data is refused", (value) =>
    value === null || ["string", "number", "boolean"].includes(typeof value) ? value : "text",
  ),
  handingOut("numbers lose their last digits", asItWent, (payload) =>
    JSON.stringify(
      JSON.parse(payload, (_, value) => (typeof value === "number" ? Math.fround(value) : value)),
    ),
  ),
  handingOut("texts are normalised", asItWent, (payload) => payload.normalize("NFKC")),
  handingOut("empty objects are left out", asItWent, (payload) => payload.replace("[{},[]]", "[[]]")),
  handingOut("__proto__ is dropped", "__proto__ and constructor are ordinary keys and stay data", (payload) =>
    JSON.stringify(JSON.parse(payload, (key, value) => (key === "__proto__" ? undefined : value))),
  ),
  atEndpoint(
    "__proto__ sets a prototype",
    "__proto__ and constructor are ordinary keys and stay data",
    async (asked, inner) => {
      const outcome = await inner(asked.operation, asked.context, asked.payload);
      if (asked.operation !== "claim" || outcome.kind !== "success") return outcome;
      const value = outcome.value as { readonly payload: JsonObject };
      const payload: Record<string, unknown> = {};
      for (const [key, each] of Object.entries(value.payload)) payload[key] = each;
      return { kind: "success", value: { ...value, payload } };
    },
  ),
  handingOut("-0 stays -0", "-0 goes as 0", (payload) => payload.replace('"n":0', '"n":-0')),
  atEndpoint(
    "a request is read after a pause",
    "what a caller changes after its call is not stored",
    async ({ operation, context, payload }, inner) => {
      await Promise.resolve();
      return inner(operation, context, payload);
    },
  ),
];
