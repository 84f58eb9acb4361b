import * as fc from "fast-check";
import { type EnqueueRequest, type InvocationContext, jobsCapability } from "../../capability/index.ts";
import { canary } from "./fuzz-target.ts";
import {
  almost,
  asRecord,
  characterOf,
  hostileName,
  hostileText,
  hostileValue,
  nearlyName,
  oneWrong,
} from "./hostile-values.ts";

/** A call as the generator plans it. */
export interface WireCall {
  readonly operation: string;
  readonly context: InvocationContext;
  readonly request: unknown;
  /** Whether nothing is wrong with it, so that it may not be refused for its form. */
  readonly isGood: boolean;
}

/** Stand for what exists only when the call is made: the job that a worker holds, and its token. */
export const held = { job: "(the held job)", token: "(its token)" };

/** The job that waits when a call comes, as its producer asked for it. */
export const waiting: Readonly<Record<keyof EnqueueRequest, unknown>> & { readonly queue: string } = {
  queue: "mail",
  kind: "send",
  payload: { secret: canary },
  idempotency_key: "taken",
  available_at: "2026-01-01T00:00:00Z",
  max_attempts: 3,
};

const alphabet = characterOf("AZaz09._-:/");
const nameUpTo = (maxLength: number) => fc.string({ unit: alphabet, minLength: 1, maxLength });
const otherJob = fc.constantFrom(
  "job_AAAAAAAAAAGjuwBRNzQ0W247",
  "job_",
  `job_${"_".repeat(24)}`,
  `job_${"A".repeat(24)}`,
);
const otherToken = fc.constantFrom(`job_${"lease_"}${"A".repeat(43)}`, `job_${"lease_"}${"B".repeat(43)}`);

const enqueue = {
  queue: fc.constantFrom("mail", "other"),
  kind: nameUpTo(8),
  payload: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }).map(portable), {
    maxKeys: 4,
  }),
  idempotency_key: fc.constantFrom("new", "new:2", "taken"),
  available_at: fc.constantFrom(
    "2026-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999+00:00",
    "0001-01-01t00:00:00z",
  ),
  max_attempts: fc.integer({ min: 1, max: 100 }),
};
const lease = { job_id: fc.constant(held.job), lease_token: fc.constant(held.token) };
const wrongLease = { job_id: otherJob, lease_token: otherToken };
const inPayload = fc.oneof(
  hostileValue,
  fc.constantFrom("a\u0000", "\ud800", 2 ** 53, Number.NaN, "x".repeat(262_144), -0),
  fc.constantFrom(62, 63, 64, 65).map(nested),
);

/** The requests of each operation: what is right, and for some fields what is wrong with them most likely. */
const forms: Readonly<Record<string, readonly [good: Fields, wrong?: Fields]>> = {
  enqueue: [
    enqueue,
    {
      queue: nearlyName,
      kind: nearlyName,
      idempotency_key: nearlyName,
      payload: fc
        .tuple(hostileName, inPayload)
        .map(([key, value]) => asRecord(Object.fromEntries([[key, value]]))),
      available_at: fc.oneof(hostileText, fc.string({ unit: characterOf("0129-:TZ+."), maxLength: 30 })),
      max_attempts: fc.oneof(fc.integer({ min: -1, max: 102 }), fc.double()),
    },
  ],
  claim: [{ queue: fc.constantFrom("mail", "other") }, { queue: nearlyName }],
  renew: [lease, wrongLease],
  complete: [lease, wrongLease],
  fail: [
    { ...lease, failure_code: nameUpTo(12), retryable: fc.boolean() },
    { ...wrongLease, failure_code: fc.oneof(nearlyName, hostileText, hostileText) },
  ],
  inspect: [{ job_id: fc.constant(held.job) }, { job_id: otherJob }],
};

type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>;

const rightful = (operation: string): InvocationContext => ({
  requestId: "1",
  callerInstance: operation === "enqueue" ? "producer" : operation === "inspect" ? "observer" : "worker",
  deadline: "PT5S",
  cancelled: false,
});

const anyContext: fc.Arbitrary<InvocationContext> = fc.record(
  {
    requestId: fc.constant("1"),
    callerInstance: fc.constantFrom("producer", "worker", "observer", "stranger", "__proto__"),
    deadline: fc.oneof({ weight: 9, arbitrary: fc.constant("PT5S") }, { weight: 1, arbitrary: hostileName }),
    cancelled: fc.nat(5).map((chance) => chance === 5),
  },
  { requiredKeys: ["requestId", "cancelled"] },
);

const formed = Object.entries(forms).map(([operation, [good, wrong]]) => {
  const right = fc.oneof(
    { weight: 3, arbitrary: fc.record(good) },
    { weight: 1, arbitrary: operation === "enqueue" ? fc.constant(waiting) : fc.record(good) },
  );
  const context = rightful(operation);
  return fc.oneof(
    {
      weight: 8,
      arbitrary: oneWrong(good, wrong).map((request) => ({ operation, context, request, isGood: false })),
    },
    { weight: 3, arbitrary: right.map((request) => ({ operation, context, request, isGood: true })) },
    {
      weight: 1,
      arbitrary: fc
        .record({ ended: fc.constantFrom({ cancelled: true }, { deadline: "PT0S" }), request: right })
        .map(({ ended, request }) => ({
          operation,
          context: { ...context, ...ended },
          request,
          isGood: false,
        })),
    },
    {
      weight: 1,
      arbitrary: fc
        .record({ context: anyContext, request: right })
        .map((call) => ({ operation, ...call, isGood: false })),
    },
  );
});

const anything: fc.Arbitrary<WireCall> = fc.record({
  operation: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...jobsCapability.descriptor.operations) },
    { weight: 1, arbitrary: hostileName },
  ),
  context: anyContext,
  request: fc.oneof(...Object.values(forms).map(([good]) => almost(good)), hostileValue),
  isGood: fc.constant(false),
});

/** Calls of all six operations: most are right but for one thing, some right in all, some of anything. */
export const wireCalls: fc.Arbitrary<WireCall> = fc.oneof(
  // What enqueue takes has the most ways to be wrong.
  { weight: 4, arbitrary: formed[0] as fc.Arbitrary<WireCall> },
  ...formed.slice(1).map((arbitrary) => ({ weight: 2, arbitrary })),
  { weight: 3, arbitrary: anything },
);

/** Without integers that are too large for the contract. */
function portable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, member: unknown) =>
    Number.isInteger(member) && !Number.isSafeInteger(member) ? 0.5 : member,
  );
}

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}
