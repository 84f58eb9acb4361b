import * as fc from "fast-check";
import type { CapabilityProviderBinding } from "../../capability/index.ts";
import { secretsFromEnvironment, secretsFromMap } from "../../host-fixtures/secrets.ts";
import { canary, expectNoCanary, type FuzzTarget } from "./fuzz-target.ts";
import { almost, armed, hostileText } from "./hostile-values.ts";

const references = fc.oneof(
  hostileText,
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
  property() {
    const known = "a/known/one";
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
        if (outcome.kind === "success") throw new Error("a secret was given for a name that is not its own");
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
