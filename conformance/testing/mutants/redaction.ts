import type { RuntimeFailureKind } from "../../../capability/index.ts";
import { atEndpoint, domain } from "./endpoints.ts";
import type { Mutant } from "./mutant.ts";

const payloads = "no refusal of an enqueue shows the payload";
const tokens = "no refusal of renew, complete or fail shows the token";
const printedClaim = "a printed claim shows neither its payload nor its token";

/** A mutant whose failures of some kinds quote the request. */
function quoting(name: string, isQuoted: (kind: RuntimeFailureKind) => boolean): Mutant {
  const killer = "neither a call that is over nor one of an unknown operation shows what it sent";
  return atEndpoint(name, killer, async ({ operation, context, payload }, inner) => {
    const outcome = await inner(operation, context, payload);
    if (outcome.kind !== "runtime" || !isQuoted(outcome.failure.kind)) return outcome;
    const detail = `${outcome.failure.detail}: ${JSON.stringify(payload)}`;
    return { kind: "runtime", failure: { ...outcome.failure, detail } };
  });
}

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
    "a payload that is too large is quoted",
    payloads,
    async ({ operation, context, payload, fields }, inner) => {
      const outcome = await inner(operation, context, payload);
      if (outcome.kind !== "domain" || outcome.value !== "invalid_job") return outcome;
      const texts = Object.values(Object(fields["payload"])).filter((each) => typeof each === "string");
      const isLarge = texts.join("").length > 262_144;
      return isLarge ? domain({ code: "invalid_job", payload: texts }) : outcome;
    },
  ),
  quoting("a call that is over is quoted", (kind) => kind === "cancelled" || kind === "deadline_exceeded"),
  quoting("an unknown operation is quoted", (kind) => kind === "unknown_operation"),
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
