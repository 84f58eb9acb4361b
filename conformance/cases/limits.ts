import type { EnqueueRequest, JsonObject } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectFields, expectThat } from "../expect-equal.ts";
import type { Rig } from "../rig.ts";
import { expectVerdict, verdictOf } from "../verdict-of.ts";

const rule = "limits";
const alphabet = "ABCXYZabcxyz0189._-:/";
const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));
/** The Kelvin sign and the long s are letters of ASCII to who compares without case. */
const foreign = [...ascii.filter((each) => !/[\w.:/-]/.test(each)), "é", "０", "😀", "\u212a", "\u017f"];
const maxBytes = 262_144;

/** Every limit at its edge. */
export const limitCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a kind has 1 to 256 characters",
    run: (rig) => expectLengths(256, (kind) => enqueue(rig, { kind }), "invalid_job"),
  },
  {
    rule,
    name: "an idempotency key has 1 to 256 characters",
    run: (rig) => expectLengths(256, (idempotency_key) => enqueue(rig, { idempotency_key }), "invalid_job"),
  },
  {
    rule,
    name: "a queue's name has up to 128 characters, and their case counts",
    configuration: { queues: ["q", "Q", nameOf(128)] },
    async run(rig) {
      for (const queue of ["q", nameOf(128)]) {
        expectEqual(await enqueue(rig, { queue }), "ok", queue);
        await expectVerdict(rig.worker.claim({ queue: "Q" }), "no_job_available");
        expectFields(await rig.claim(queue), { queue });
      }
      expectEqual(await enqueue(rig, { queue: nameOf(129) }), "invalid_job");
      await expectVerdict(rig.worker.claim({ queue: nameOf(129) }), "invalid_queue");
    },
  },
  {
    rule,
    name: "a failure code has 1 to 128 characters",
    async run(rig) {
      await expectLengths(128, (code) => failNew(rig, code), "invalid_failure");
    },
  },
  {
    rule,
    name: "names have letters, digits and . _ - : / of ASCII only",
    async run(rig) {
      const { lease } = await rig.running({ queue: "other" });
      for (const character of foreign) {
        for (const text of [character, `a${character}`, `${character}a`, `a${character}b`]) {
          expectEqual(await enqueue(rig, { kind: text }), "invalid_job", JSON.stringify(text));
          expectEqual(await enqueue(rig, { idempotency_key: text }), "invalid_job", JSON.stringify(text));
          const failure = { ...lease, failure_code: text, retryable: false };
          await expectVerdict(rig.worker.fail(failure), "invalid_failure", JSON.stringify(text));
        }
      }
      for (const text of alphabet) expectEqual(await enqueue(rig, { kind: text }), "ok", text);
    },
  },
  {
    rule,
    name: "max_attempts is an integer from 1 to 100",
    async run(rig) {
      for (const max_attempts of [1, 2, 99, 100]) expectEqual(await enqueue(rig, { max_attempts }), "ok");
      for (const max_attempts of [0, -1, 101, 1.5, 99.999, 2 ** 31, 1e300])
        expectEqual(await enqueue(rig, { max_attempts }), "invalid_job", String(max_attempts));
    },
  },
  {
    rule,
    name: "a payload has at most 262144 bytes of compact JSON",
    async run(rig) {
      expectEqual(await enqueue(rig, { payload: textOf(maxBytes + 1, "a") }), "invalid_job");
      const payload = textOf(maxBytes, "a");
      expectEqual(await enqueue(rig, { payload }), "ok");
      expectThat((await rig.claim()).payload["t"] === payload["t"], "the largest payload back as it was");
    },
  },
  {
    rule,
    name: "a payload's size counts bytes of UTF-8, escapes and keys included",
    async run(rig) {
      for (const fill of ["é", "語", "😀", '"', "\u0001"]) {
        expectEqual(await enqueue(rig, { payload: textOf(maxBytes + 1, fill) }), "invalid_job", fill);
        expectEqual(await enqueue(rig, { payload: textOf(maxBytes, fill) }), "ok", fill);
      }
      const longest = (maxBytes - Buffer.byteLength('{"":1}')) / 2;
      expectEqual(await enqueue(rig, { payload: { ["é".repeat(longest)]: 1 } }), "ok", "a key");
      expectEqual(await enqueue(rig, { payload: { ["é".repeat(longest + 1)]: 1 } }), "invalid_job", "a key");
    },
  },
  {
    rule,
    name: "a payload is at most 64 deep, of objects and of arrays, whatever scalar is in the last",
    async run(rig) {
      for (const leaf of [{}, [], { n: 1 }, [1]]) {
        for (const around of [inObject, inArray]) {
          for (const depth of [2, 63, 64]) {
            const payload = nested(depth, leaf, around);
            expectEqual(await enqueue(rig, { payload }), "ok", `${depth} deep`);
            expectEqual((await rig.claim()).payload, payload);
          }
          for (const depth of [65, 66, 1000]) {
            const payload = nested(depth, leaf, around);
            expectEqual(await enqueue(rig, { payload }), "invalid_job", `${depth} deep`);
          }
        }
      }
    },
  },
  {
    rule,
    name: "a refused request stores nothing and takes no key",
    async run(rig) {
      const request = rig.request();
      const refused = [{ max_attempts: 0 }, { kind: "" }, { payload: textOf(maxBytes + 1, "a") }];
      for (const change of refused)
        await expectVerdict(rig.producer.enqueue({ ...request, ...change }), "invalid_job");
      await expectVerdict(rig.worker.claim({ queue: request.queue }), "no_job_available");
      const answer = await rig.producer.enqueue(request);
      expectThat(answer.ok && answer.value.created, "the key of a refused request to be free");
    },
  },
];

function nameOf(length: number): string {
  return alphabet.repeat(Math.ceil(length / alphabet.length)).slice(0, length);
}

/** A payload whose compact JSON has that many bytes, filled with one character. */
function textOf(bytes: number, fill: string): JsonObject {
  const width = Buffer.byteLength(JSON.stringify(fill)) - 2;
  const room = bytes - Buffer.byteLength('{"t":""}');
  return { t: fill.repeat(Math.floor(room / width)) + "a".repeat(room % width) };
}

const inObject = (value: object): object => ({ d: value });
const inArray = (value: object): object => [value];

/** An object, and in it levels around the leaf, so many with both. */
function nested(depth: number, leaf: object, around: (value: object) => object): JsonObject {
  let value = leaf;
  for (let level = 2; level < depth; level += 1) value = around(value);
  return inObject(value) as JsonObject;
}

function enqueue(rig: Rig, changes: Partial<EnqueueRequest>): Promise<string> {
  return verdictOf(rig.producer.enqueue(rig.request(changes)));
}

async function failNew(rig: Rig, failure_code: string): Promise<string> {
  const { lease } = await rig.running();
  return verdictOf(rig.worker.fail({ ...lease, failure_code, retryable: false }));
}

async function expectLengths(
  max: number,
  ask: (text: string) => Promise<string>,
  refused: string,
): Promise<void> {
  for (const length of [1, 2, max - 1, max]) expectEqual(await ask(nameOf(length)), "ok", `${length}`);
  for (const length of [0, max + 1, max * 10]) expectEqual(await ask(nameOf(length)), refused, `${length}`);
}
