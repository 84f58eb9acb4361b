import type { ConformanceCase } from "../conformance-case.ts";
import { expectEqual, expectThat } from "../expect-equal.ts";
import { type Rig, times } from "../rig.ts";
import { expectVerdict, valueOf, valuesOf } from "../verdict-of.ts";

const rule = "idempotency keys";

/** Which keys are the same. */
export const keyCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "a key belongs to its producer: another's is another job",
    async run(rig) {
      const { job_id, request } = await rig.enqueue();
      const other = await valueOf(rig.producer2.enqueue(request));
      expectThat(other.created && other.job_id !== job_id, "a job of its own for the other producer");
      expectEqual(await valueOf(rig.producer.enqueue(request)), { job_id, created: false });
      const changed = { ...request, kind: "mail.other" };
      await expectVerdict(rig.producer2.enqueue(changed), "idempotency_conflict");
    },
  },
  {
    rule,
    name: "where a producer's name ends and its key begins makes a difference",
    async run(rig) {
      const request = rig.request({ idempotency_key: "x" });
      expectEqual((await valueOf(rig.producer2.enqueue(request))).created, true);
      await expectNew(rig, ["2x"]);
    },
  },
  {
    rule,
    name: "a key names one job across all queues",
    async run(rig) {
      const { job_id, request } = await rig.enqueue({ queue: "mail" });
      const elsewhere = { ...request, queue: "other" };
      await expectVerdict(rig.producer.enqueue(elsewhere), "idempotency_conflict");
      expectEqual(await rig.claimAll("other"), []);
      expectEqual(await valueOf(rig.producer.enqueue(request)), { job_id, created: false });
    },
  },
  {
    rule,
    name: "keys differ by case, by punctuation and by what stands behind",
    async run(rig) {
      await expectNew(rig, ["a", "A", "a.", "a/b", "a:b", "a_b", "a-b", "a-", "a--", "a:", "a/", "a_"]);
      await expectNew(rig, ["_", "-", ".", "/", "null", "0", "00"]);
    },
  },
  {
    rule,
    name: "keys of 256 characters differ by each of them",
    async run(rig) {
      const key = "k".repeat(256);
      const others = times(256, (index) => `${key.slice(0, index)}x${key.slice(index + 1)}`);
      for (let at = 0; at < others.length; at += 32) await expectNew(rig, others.slice(at, at + 32));
      await expectNew(rig, [key]);
    },
  },
];

/** Nobody has had these keys before. They are asked for at once. */
async function expectNew(rig: Rig, keys: readonly string[]): Promise<void> {
  const requests = keys.map((idempotency_key) => rig.request({ idempotency_key }));
  const answers = await valuesOf(requests.map((request) => rig.producer.enqueue(request)));
  const there = keys.filter((_, index) => answers[index]?.created !== true);
  expectEqual(there, [], "keys that were there before");
}
