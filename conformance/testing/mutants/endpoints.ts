import type {
  CapabilityProviderBinding,
  InvocationContext,
  ProviderDispatchOutcome,
} from "../../../capability/index.ts";
import type { Model } from "../model-conformance.ts";
import type { Mutant } from "./mutant.ts";

type Invoke = CapabilityProviderBinding["invokeRequest"];
type Fields = Readonly<Record<string, unknown>>;

/** One call, as a mutant of the endpoint sees it. */
export interface Asked {
  readonly operation: string;
  readonly context: InvocationContext;
  readonly payload: unknown;
  /** The payload's fields, or none. */
  readonly fields: Fields;
  readonly model: Model;
}

/** A mutant that answers in the place of the endpoint, which it may ask. */
export function atEndpoint(
  name: string,
  killer: string,
  answer: (asked: Asked, inner: Invoke) => Promise<ProviderDispatchOutcome> | ProviderDispatchOutcome,
): Mutant {
  return {
    name,
    killer,
    departure: {
      endpoint: (inner, model) => ({
        descriptor: inner.descriptor,
        invokeRequest: async (operation, context, payload) => {
          const asked = { operation, context, payload, fields: fieldsOf(payload), model };
          return answer(asked, (...call) => inner.invokeRequest(...call));
        },
      }),
    },
  };
}

/** A mutant whose endpoint reads something else than what came. */
export function rewriting(
  name: string,
  killer: string,
  change: (fields: Fields, operation: string) => unknown,
): Mutant {
  return atEndpoint(name, killer, ({ operation, context, payload, fields }, inner) =>
    inner(operation, context, isFields(payload) ? change(fields, operation) : payload),
  );
}

/** A mutant that refuses requests that are fine. */
export function refusing(
  name: string,
  killer: string,
  operation: string,
  code: string,
  refuses: (fields: Fields) => boolean,
): Mutant {
  return atEndpoint(name, killer, (asked, inner) =>
    asked.operation === operation && refuses(asked.fields)
      ? domain(code)
      : inner(asked.operation, asked.context, asked.payload),
  );
}

/** A refusal of the capability, whatever its code looks like. */
export function domain(value: unknown): ProviderDispatchOutcome {
  return { kind: "domain", value };
}

/** Whether it is an object with fields, and no list. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fieldsOf(payload: unknown): Fields {
  return isFields(payload) ? payload : {};
}
