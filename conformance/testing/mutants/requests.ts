import { bindJobsProvider, type JobsOperation, jobsCapability } from "../../../capability/index.ts";
import { formatJobId, parseJobId } from "../../../plugin/job-id.ts";
import { atEndpoint, domain, isFields, rewriting } from "./endpoints.ts";
import { deadly, jobOf, type Mutant } from "./mutant.ts";

const times = "every time goes out in UTC with microseconds";
const isOperation = (name: string): name is JobsOperation =>
  jobsCapability.descriptor.operations.includes(name);
const template: Readonly<Record<string, unknown>> = {
  queue: "mail",
  kind: "mail.send",
  payload: {},
  idempotency_key: "key",
  available_at: "2001-01-01T00:00:00Z",
  max_attempts: 1,
  job_id: "",
  lease_token: "",
  failure_code: "busy",
  retryable: true,
};

function fieldsOf(operation: JobsOperation): string[] {
  const { entries } = jobsCapability.operations[operation].request as unknown as { readonly entries: object };
  return Object.keys(entries);
}

/** A mutant that changes what it answered. */
function answering(name: string, killer: string, change: (text: string) => string): Mutant {
  return atEndpoint(name, killer, async ({ operation, context, payload }, inner) => {
    const outcome = await inner(operation, context, payload);
    if (outcome.kind !== "success") return outcome;
    return { kind: "success", value: JSON.parse(change(JSON.stringify(outcome.value))) as unknown };
  });
}

/** Requests that are read leniently, and answers of another form. */
export const requestMutants: readonly Mutant[] = [
  rewriting(
    "unknown fields are ignored",
    "a request with an unknown field is a protocol violation",
    (fields, operation) =>
      isOperation(operation)
        ? Object.fromEntries(Object.entries(fields).filter(([key]) => fieldsOf(operation).includes(key)))
        : fields,
  ),
  rewriting(
    "a field that is missing has a default",
    "a request that lacks a field is a protocol violation",
    (fields, operation) =>
      isOperation(operation)
        ? { ...Object.fromEntries(fieldsOf(operation).map((key) => [key, template[key]])), ...fields }
        : fields,
  ),
  rewriting("numbers may come as texts", "a field of another JSON type is a protocol violation", (fields) =>
    typeof fields["max_attempts"] === "string"
      ? { ...fields, max_attempts: Number(fields["max_attempts"]) }
      : fields,
  ),
  rewriting("a payload may be a list", "a field of another JSON type is a protocol violation", (fields) =>
    Array.isArray(fields["payload"]) ? { ...fields, payload: { list: fields["payload"] } } : fields,
  ),
  atEndpoint(
    "a list of one request is taken for it",
    "a request that is no object is a protocol violation",
    ({ operation, context, payload }, inner) =>
      inner(operation, context, Array.isArray(payload) && isFields(payload[0]) ? payload[0] : payload),
  ),
  atEndpoint(
    "what cannot be decoded is a bug of the provider's",
    "a request that is no object is a protocol violation",
    async ({ operation, context, payload }, inner) => {
      const outcome = await inner(operation, context, payload);
      return outcome.kind === "runtime" && outcome.failure.kind === "protocol_violation"
        ? { kind: "runtime", failure: { ...outcome.failure, kind: "plugin_failure" } }
        : outcome;
    },
  ),
  atEndpoint(
    "an unknown operation is unauthorized",
    "an operation that the contract does not have is unknown",
    ({ operation, context, payload }, inner) =>
      isOperation(operation) ? inner(operation, context, payload) : domain("unauthorized"),
  ),
  {
    name: "the descriptor has one more operation",
    killer: "the descriptor names the six operations and nothing else",
    departure: {
      endpoint: (inner) => ({
        ...inner,
        descriptor: { ...inner.descriptor, operations: [...inner.descriptor.operations, "cancel"] },
      }),
    },
  },
  deadly(
    answering(
      "an answer has one more field",
      "each answer has the fields of the contract and no other",
      (text) => text.replace('"created":', '"position":1,"created":'),
    ),
  ),
  deadly(
    answering("an answer lacks a field", "each answer has the fields of the contract and no other", (text) =>
      text.replace(/"created_at":"[^"]+",/, ""),
    ),
  ),
  answering("times go out with milliseconds", times, (text) => text.replace(/(\.\d{3})\d{3}Z/g, "$1Z")),
  answering("times go out with an offset", times, (text) => text.replace(/(\.\d{6})Z/g, "$1+00:00")),
  deadly(
    answering(
      "a token has another form",
      "a job id is job_ and 24 characters, a token job_lease_ and 43",
      (text) => text.replaceAll("job_lease_", "lease_"),
    ),
  ),
  atEndpoint(
    "an id may have something around it",
    "a malformed job id names nothing",
    ({ operation, context, payload, fields }, inner) =>
      inner(
        operation,
        context,
        typeof fields["job_id"] === "string" ? { ...fields, job_id: fields["job_id"].trim() } : payload,
      ),
  ),
  atEndpoint(
    "jobs have the same id",
    "every job has an id of its own, and every claim a token of its own",
    async ({ operation, context, payload, model }, inner) => {
      const outcome = await inner(operation, context, payload);
      const [first] = model.table.byRow.values();
      if (operation !== "enqueue" || outcome.kind !== "success" || !first) return outcome;
      return { kind: "success", value: { ...(outcome.value as object), job_id: formatJobId(first.id) } };
    },
  ),
  atEndpoint(
    "a job that does not exist is queued for ever",
    "a job that does not exist is job_not_found",
    async ({ operation, context, payload, fields, model }, inner) => {
      const outcome = await inner(operation, context, payload);
      const id = parseJobId(String(fields["job_id"]));
      if (operation !== "inspect" || !id || jobOf(model, id) || outcome.kind !== "domain") return outcome;
      return bindJobsProvider(nothingKnown).invokeRequest(operation, context, payload);
    },
  ),
];

const unavailable = async () => ({ ok: false, error: { kind: "domain", error: "unauthorized" } }) as const;

/** Answers `inspect` for any id, and nothing else. */
const nothingKnown: Parameters<typeof bindJobsProvider>[0] = {
  claim: unavailable,
  complete: unavailable,
  enqueue: unavailable,
  fail: unavailable,
  renew: unavailable,
  inspect: async (_context, { job_id }) => ({
    ok: true,
    value: {
      job_id,
      queue: "mail",
      kind: "unknown",
      status: "queued",
      attempts: 0,
      max_attempts: 1,
      available_at: "2026-01-01T00:00:00.000000Z",
      created_at: "2026-01-01T00:00:00.000000Z",
      updated_at: "2026-01-01T00:00:00.000000Z",
    },
  }),
};
