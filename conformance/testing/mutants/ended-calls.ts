import type { ProviderDispatchOutcome, RuntimeFailureKind } from "../../../capability/index.ts";
import { atEndpoint } from "./endpoints.ts";
import { inStore, type Mutant } from "./mutant.ts";

const aborted = "a call whose signal had aborted before is cancelled and does nothing";
const cancelled = "a call that the host calls cancelled is cancelled and does nothing";
const passed = "a call whose deadline has passed is deadline_exceeded and does nothing";

function runtime(kind: RuntimeFailureKind): ProviderDispatchOutcome {
  return { kind: "runtime", failure: { kind, detail: "no answer" } };
}

/** Calls that are over and carried out, or judged wrongly. */
export const endedCallMutants: readonly Mutant[] = [
  atEndpoint("a cancelled call is carried out", cancelled, ({ operation, context, payload }, inner) =>
    inner(operation, { ...context, cancelled: false }, payload),
  ),
  atEndpoint(
    "an aborted call is carried out before it says so",
    aborted,
    async ({ operation, context, payload }, inner) => {
      const { signal, ...unsignalled } = context;
      const outcome = await inner(operation, { ...unsignalled, cancelled: false }, payload);
      return signal?.aborted ? runtime("cancelled") : outcome;
    },
  ),
  atEndpoint("a deadline is ignored", passed, ({ operation, context, payload }, inner) => {
    const { deadline: _, ...endless } = context;
    return inner(operation, endless, payload);
  }),
  inStore("a claim does not look at its deadline", passed, (model) => ({
    claim(request, call) {
      const over = call.over?.kind === "deadline_exceeded" ? undefined : call.over;
      return model.store.claim(request, { caller: call.caller, over, onOver: () => () => {} });
    },
  })),
  atEndpoint(
    "a passed deadline is called cancelled",
    passed,
    async ({ operation, context, payload }, inner) => {
      const outcome = await inner(operation, context, payload);
      const late = outcome.kind === "runtime" && outcome.failure.kind === "deadline_exceeded";
      return late ? runtime("cancelled") : outcome;
    },
  ),
  atEndpoint(
    "an aborted call is a failure of the provider's",
    aborted,
    async ({ operation, context, payload }, inner) => {
      const outcome = await inner(operation, context, payload);
      const over = outcome.kind === "runtime" && outcome.failure.kind === "cancelled";
      return over ? runtime("plugin_failure") : outcome;
    },
  ),
  atEndpoint(
    "every deadline has passed",
    "a deadline that leaves time changes nothing",
    ({ operation, context, payload }, inner) =>
      context.deadline === undefined ? inner(operation, context, payload) : runtime("deadline_exceeded"),
  ),
  atEndpoint(
    "a call that is over is not judged",
    "a call that is over is still judged by role and bounds first",
    ({ operation, context, payload }, inner) =>
      context.cancelled ? runtime("cancelled") : inner(operation, context, payload),
  ),
];
