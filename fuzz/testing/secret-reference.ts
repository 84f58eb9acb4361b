import * as fc from "fast-check";
import type { CapabilityProviderBinding, ProviderDispatchOutcome } from "../../capability/index.ts";
import { secretsFromEnvironment, secretsFromMap } from "../../host-fixtures/secrets.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { almost, armed, hostileText } from "./hostile-values.ts";

const known = "a/known/one";
const references = fc.oneof(
  hostileText,
  // The one that is known, and what is nearly it.
  fc.constantFrom(
    known,
    known,
    `${known}/`,
    `/${known}`,
    "A/known/one",
    "a//known/one",
    "a/./known/one",
    "a/known/one\u0000",
  ),
  fc
    .array(fc.constantFrom("a", "b", ".", "..", "/", "-", "_", "é"), { maxLength: 12 })
    .map((parts) => parts.join("")),
);
const requests = fc.oneof(
  almost({ reference: references }),
  references.map((reference) => ({ reference })),
);

/** References of secrets, to a provider that has one secret and must not give it for any other name. */
export const secretReference: FuzzTarget = {
  name: "secret references",
  share: 2,
  leastOfThousand: { success: 10, unknown_reference: 80, invalid_reference: 120, protocol_violation: 15 },
  property(reach) {
    const providers = [
      secretsFromMap({ [known]: canary }),
      secretsFromEnvironment({ prefix: "LENSO_FUZZ_NEVER_SET_" }),
    ];
    const endpoints = providers.map(
      (plugin) => plugin.instantiate({ instanceKey: "secrets", configuration: undefined }).endpoints[0],
    );
    return fc.asyncProperty(requests, async (planned) => {
      const request = armed(planned);
      for (const endpoint of endpoints as CapabilityProviderBinding[]) {
        const outcome = await endpoint.invokeRequest(
          "resolve",
          { requestId: "1", callerInstance: "jobs", cancelled: false },
          request,
        );
        expectNoCanary(outcome);
        reach(answerOf(outcome));
        if (outcome.kind === "success") {
          if ((request as { readonly reference: unknown }).reference === known) continue;
          throw new Error("a secret was given for a name that is not its own");
        }
        const isRefusal =
          outcome.kind === "domain" &&
          ["invalid_reference", "unknown_reference"].includes(outcome.value as string);
        if (!isRefusal && !(outcome.kind === "runtime" && outcome.failure.kind === "protocol_violation")) {
          throw new Error(`resolve ended with ${outcome.kind}`);
        }
      }
    });
  },
};

function answerOf(outcome: ProviderDispatchOutcome): string {
  if (outcome.kind === "domain") return String(outcome.value);
  return outcome.kind === "runtime" ? outcome.failure.kind : outcome.kind;
}
