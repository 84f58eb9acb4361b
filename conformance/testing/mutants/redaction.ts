import { atEndpoint, domain } from "./endpoints.ts";
import type { Mutant } from "./mutant.ts";

const payloads = "no refusal of an enqueue shows the payload";
const tokens = "no refusal of renew, complete or fail shows the token";
const printedClaim = "a printed claim shows neither its payload nor its token";

/** Answers that show what they should not. */
export const redactionMutants: readonly Mutant[] = [
  atEndpoint("a claim prints as it is", printedClaim, async ({ operation, context, payload }, inner) => {
    const outcome = await inner(operation, context, payload);
    return operation === "claim" && outcome.kind === "success"
      ? { kind: "success", value: structuredClone(outcome.value) }
      : outcome;
  }),
  atEndpoint(
    "a claim hides its payload from the worker too",
    "a claim gives the worker payload and token in full",
    async ({ operation, context, payload }, inner) => {
      const outcome = await inner(operation, context, payload);
      return operation === "claim" && outcome.kind === "success"
        ? { kind: "success", value: { ...(outcome.value as object), payload: { redacted: true } } }
        : outcome;
    },
  ),
  atEndpoint(
    "a request that cannot be decoded is quoted",
    payloads,
    async ({ operation, context, payload }, inner) => {
      const outcome = await inner(operation, context, payload);
      if (outcome.kind !== "runtime") return outcome;
      const detail = `${outcome.failure.detail}: ${JSON.stringify(payload)}`;
      return { kind: "runtime", failure: { ...outcome.failure, detail } };
    },
  ),
  atEndpoint(
    "a payload that is refused is quoted",
    payloads,
    async ({ operation, context, payload, fields }, inner) => {
      const outcome = await inner(operation, context, payload);
      return outcome.kind === "domain" && outcome.value === "invalid_job"
        ? domain({ code: "invalid_job", payload: Object.keys(Object(fields["payload"])) })
        : outcome;
    },
  ),
  atEndpoint(
    "a conflict names its key",
    "no refusal of an enqueue shows the key",
    async ({ operation, context, payload, fields }, inner) => {
      const outcome = await inner(operation, context, payload);
      return outcome.kind === "domain" && outcome.value === "idempotency_conflict"
        ? domain({ code: "idempotency_conflict", payload: fields["idempotency_key"] })
        : outcome;
    },
  ),
  atEndpoint(
    "a refused lease names its token",
    tokens,
    async ({ operation, context, payload, fields }, inner) => {
      const outcome = await inner(operation, context, payload);
      return outcome.kind === "domain" && outcome.value === "invalid_lease"
        ? domain({ code: "invalid_lease", payload: fields["lease_token"] })
        : outcome;
    },
  ),
  atEndpoint(
    "a failure code that is refused is quoted",
    tokens,
    async ({ operation, context, payload, fields }, inner) => {
      const outcome = await inner(operation, context, payload);
      return outcome.kind === "domain" && outcome.value === "invalid_failure"
        ? domain({ code: "invalid_failure", payload: fields["failure_code"] })
        : outcome;
    },
  ),
  atEndpoint(
    "evidence shows the payload as its kind",
    "evidence shows no payload, no key and no token",
    async ({ operation, context, payload, model }, inner) => {
      const outcome = await inner(operation, context, payload);
      if (operation !== "inspect" || outcome.kind !== "success") return outcome;
      const [job] = model.table.byRow.values();
      return { kind: "success", value: { ...(outcome.value as object), kind: job?.asked.payload ?? "" } };
    },
  ),
];
