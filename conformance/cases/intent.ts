import type { EnqueueRequest, JsonObject } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual } from "../expect-equal.ts";
import { expectVerdict, valueOf } from "../verdict-of.ts";

const rule = "what makes an intent";

/** Built from text, where a literal would set a prototype or lose the order of keys. */
const parsed = (text: string): JsonObject => JSON.parse(text) as JsonObject;

const equal: readonly (readonly [JsonObject, JsonObject])[] = [
  [parsed('{"a":1,"b":{"c":2,"d":[{"e":1,"f":2}]}}'), parsed('{"b":{"d":[{"f":2,"e":1}],"c":2},"a":1}')],
  [parsed('{"10":1,"9":2}'), parsed('{"9":2,"10":1}')],
  [
    { "\uffff": 1, "😀": 2, z: 3 },
    { z: 3, "😀": 2, "\uffff": 1 },
  ],
];

const spellings: readonly (readonly [JsonObject, JsonObject])[] = [
  [parsed('{"n":1}'), parsed('{"n":1.0}')],
  [parsed('{"n":1e2}'), parsed('{"n":100}')],
  [parsed('{"\\u0061":"\\u00e9"}'), { a: "é" }],
  [
    { n: -0, list: [-0] },
    { n: 0, list: [0] },
  ],
];

const different: readonly (readonly [JsonObject, JsonObject])[] = [
  [{}, { a: null }],
  [{ a: 1 }, { a: "1" }],
  [{ a: [1, 2] }, { a: [2, 1] }],
  [{ a: true }, { a: 1 }],
  [{ a: [] }, { a: {} }],
  [{ a: "\u00e9" }, { a: "e\u0301" }],
  [{ a: 1 }, { A: 1 }],
  [{ a: 0.1 }, { a: 0.10000000000000002 }],
  [{ a: '{"b":1}' }, { a: { b: 1 } }],
  [{ a: [[1], 2] }, { a: [1, [2]] }],
  [parsed('{"__proto__":{"a":1}}'), {}],
];

/** Which requests mean the same job. */
export const intentCases: readonly ConformanceCase[] = [
  ...differing("another kind", { kind: "Mail.send" }),
  ...differing("another payload", { payload: { to: "bob" } }),
  ...differing("a payload with one more field", { payload: { to: "ada", cc: null } }),
  ...differing("another number of attempts", { max_attempts: 4 }),
  ...differing("another requested time", { available_at: "2001-01-01T00:00:00.000001Z" }),
  ...differing("another requested time, although both are past and mean now", {
    available_at: "2002-01-01T00:00:00Z",
  }),
  {
    rule,
    name: "the order of a payload's keys makes no other intent, at any depth",
    run: (rig) => expectPairs(equal, rig, "same"),
  },
  {
    rule,
    name: "another spelling of the same JSON makes no other intent",
    run: (rig) => expectPairs(spellings, rig, "same"),
  },
  {
    rule,
    name: "payloads that mean something else are another intent, however alike they look",
    run: (rig) => expectPairs(different, rig, "other"),
  },
  {
    rule,
    name: "large payloads that differ in their last character are another intent",
    async run(rig) {
      const text = "a".repeat(200_000);
      const { request } = await rig.enqueue({ payload: { text: `${text}a` } });
      const other = { ...request, payload: { text: `${text}b` } };
      await expectVerdict(rig.producer.enqueue(other), "idempotency_conflict");
    },
  },
  {
    rule,
    name: "the same instant in another offset makes no other intent",
    async run(rig) {
      const { job_id, request } = await rig.enqueue({ available_at: "2326-01-01T00:00:00.000001Z" });
      for (const available_at of ["2326-01-01T05:30:00.000001+05:30", "2325-12-31T19:00:00.000001-05:00"]) {
        const again = await valueOf(rig.producer.enqueue({ ...request, available_at }));
        expectEqual(again, { job_id, created: false }, available_at);
      }
      const later = { ...request, available_at: "2326-01-01T00:00:00.000001+01:00" };
      await expectVerdict(rig.producer.enqueue(later), "idempotency_conflict");
    },
  },
  {
    rule,
    name: "what lies below a microsecond makes no other intent",
    async run(rig) {
      const { job_id, request } = await rig.enqueue({ available_at: "2326-01-01T00:00:00.000001Z" });
      for (const fraction of ["0000019", "00000100", "0000015000"]) {
        const available_at = `2326-01-01T00:00:00.${fraction}Z`;
        const again = await valueOf(rig.producer.enqueue({ ...request, available_at }));
        expectEqual(again, { job_id, created: false }, available_at);
      }
    },
  },
  {
    rule,
    name: "a retry moves the next run and never the intent",
    async run(rig) {
      const { job_id, request, lease } = await rig.running();
      await valueOf(rig.worker.fail({ ...lease, failure_code: "busy", retryable: true }));
      const { available_at } = await rig.inspect(job_id);
      expectEqual(await valueOf(rig.producer.enqueue(request)), { job_id, created: false });
      const moved = { ...request, available_at };
      await expectVerdict(rig.producer.enqueue(moved), "idempotency_conflict");
    },
  },
];

function differing(what: string, change: Partial<EnqueueRequest>): ConformanceCase[] {
  return [
    {
      rule,
      name: `${what} is another intent`,
      async run(rig) {
        const { job_id, request } = await rig.enqueue();
        await expectVerdict(rig.producer.enqueue({ ...request, ...change }), "idempotency_conflict");
        expectEqual(await valueOf(rig.producer.enqueue(request)), { job_id, created: false });
      },
    },
  ];
}

async function expectPairs(
  pairs: readonly (readonly [JsonObject, JsonObject])[],
  rig: Parameters<ConformanceCase["run"]>[0],
  intent: "same" | "other",
): Promise<void> {
  for (const [first, second] of pairs) {
    const { request } = await rig.enqueue({ payload: first });
    const answer = rig.producer.enqueue({ ...request, payload: second });
    await expectVerdict(answer, intent === "same" ? "ok" : "idempotency_conflict", JSON.stringify(second));
  }
}
