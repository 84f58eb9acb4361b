import type { LeaseRequest } from "../../capability/index.ts";
import type { ConformanceCase } from "../conformance-case.ts";
import { expectAbsent, expectEqual, expectFields, expectThat } from "../expect-equal.ts";
import { type Rig, times } from "../rig.ts";
import { valueOf, valuesOf, verdictOf } from "../verdict-of.ts";

const rule = "concurrency";

/** Many callers at once. */
export const concurrencyCases: readonly ConformanceCase[] = [
  {
    rule,
    name: "50 claims at once get 50 jobs, none of them twice",
    async run(rig) {
      await Promise.all(times(50, () => rig.enqueue()));
      const claims = await valuesOf(
        times(50, (index) => (index % 2 === 0 ? rig.worker : rig.worker2).claim({ queue: "mail" })),
      );
      expectEqual(new Set(claims.map(({ job_id }) => job_id)).size, 50, "jobs");
      expectEqual(new Set(claims.map(({ lease_token }) => lease_token)).size, 50, "tokens");
      expectThat(
        claims.every(({ attempt }) => attempt === 1),
        "the first attempt of each",
      );
    },
  },
  {
    rule,
    name: "of 50 claims at once for 10 jobs, 10 get one and 40 are told that there is none",
    async run(rig) {
      await Promise.all(times(10, () => rig.enqueue()));
      const answers = await Promise.all(times(50, () => rig.worker.claim({ queue: "mail" })));
      const ids = answers.flatMap((answer) => (answer.ok ? [answer.value.job_id] : []));
      expectEqual([ids.length, new Set(ids).size], [10, 10]);
      for (const answer of answers.filter(({ ok }) => !ok))
        expectEqual(await verdictOf(Promise.resolve(answer)), "no_job_available");
    },
  },
  {
    rule,
    name: "claims at once of an expired job give it to one worker",
    async run(rig) {
      const { job_id } = await rig.running();
      await rig.passLease();
      const answers = await Promise.all(
        times(20, (index) => (index % 2 === 0 ? rig.worker : rig.worker2).claim({ queue: "mail" })),
      );
      const claims = answers.flatMap((answer) => (answer.ok ? [answer.value] : []));
      expectEqual(claims.length, 1, "leases given");
      expectFields(claims[0] ?? {}, { job_id, attempt: 2 });
    },
  },
  {
    rule,
    name: "20 enqueues at once under one key make one job, and one of them has created it",
    async run(rig) {
      const request = rig.request();
      const answers = await valuesOf(times(20, () => rig.producer.enqueue({ ...request })));
      expectEqual(new Set(answers.map(({ job_id }) => job_id)).size, 1, "jobs");
      expectEqual(answers.filter(({ created }) => created).length, 1, "that say created");
      expectEqual((await rig.claimAll()).length, 1, "handed out");
    },
  },
  {
    rule,
    name: "of two intents at once under one key one wins, and every call for the other conflicts",
    async run(rig) {
      const request = rig.request();
      const intents = times(20, (index) => ({ ...request, payload: { intent: index % 2 } }));
      const verdicts = await Promise.all(intents.map((each) => verdictOf(rig.producer.enqueue(each))));
      const { payload } = await rig.claim();
      const wanted = intents.map((each) =>
        each.payload.intent === payload["intent"] ? "ok" : "idempotency_conflict",
      );
      expectEqual(verdicts, wanted);
      expectEqual(await rig.claimAll(), []);
    },
  },
  {
    rule,
    name: "duplicates of a settlement in flight together share its answer",
    async run(rig) {
      const { lease } = await rig.running();
      const answers = await valuesOf(times(20, () => rig.worker.complete(lease)));
      expectEqual(
        answers,
        times(20, () => ({ completed: true })),
      );
      const failing = await rig.running();
      const call = { ...failing.lease, failure_code: "busy", retryable: true };
      const runs = await valuesOf(times(20, () => rig.worker.fail(call)));
      expectEqual(new Set(runs.map(({ available_at }) => available_at)).size, 1, "next runs");
      expectFields(await rig.inspect(failing.job_id), { status: "queued", attempts: 1 });
    },
  },
  {
    rule,
    name: "of different settlements in flight together one counts, and its duplicates",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const calls = ["complete", "a", "b"].flatMap((by) => times(4, () => by));
      const verdicts = await Promise.all(
        calls.map(async (by) => ({
          by,
          verdict: await verdictOf(
            by === "complete"
              ? rig.worker.complete(lease)
              : rig.worker.fail({ ...lease, failure_code: by, retryable: false }),
          ),
        })),
      );
      const winners = new Set(verdicts.filter(({ verdict }) => verdict === "ok").map(({ by }) => by));
      expectEqual(winners.size, 1, "settlements that count");
      const [winner = ""] = winners;
      for (const { by, verdict } of verdicts)
        expectEqual(verdict, by === winner ? "ok" : "invalid_lease", `${by}, where ${winner} counts`);
      const status = winner === "complete" ? "succeeded" : "failed";
      expectFields(await rig.inspect(job_id), { status });
    },
  },
  {
    rule,
    name: "jobs enqueued and claimed at the same time are all handed out once",
    async run(rig) {
      const enqueues = times(30, () => rig.enqueue());
      const claims = times(30, () => rig.worker.claim({ queue: "mail" }));
      const early = (await Promise.all(claims)).flatMap((answer) => (answer.ok ? [answer.value.job_id] : []));
      const enqueued = (await Promise.all(enqueues)).map(({ job_id }) => job_id);
      const claimed = [...early, ...(await rig.claimAll())];
      expectEqual(claimed.sort(), enqueued.sort());
    },
  },
  {
    rule,
    name: "a completion and a claim called together each get their own answer, a refused completion too",
    async run(rig) {
      for (const first of ["complete", "claim"] as const) {
        const done = await rig.running();
        const next = await rig.enqueue();
        expectEqual(await together(rig, done.lease, first), ["ok", next.job_id], `${first} first`);
        const refused = { job_id: next.job_id, lease_token: done.lease.lease_token };
        const other = await rig.enqueue();
        expectEqual(await together(rig, refused, first), ["invalid_lease", other.job_id], `${first} first`);
        expectEqual(await together(rig, refused, first), ["invalid_lease", "no_job_available"]);
        const last = await rig.running();
        expectEqual(await together(rig, last.lease, first), ["ok", "no_job_available"], `${first} first`);
        for (const { job_id } of [done, last])
          expectFields(await rig.inspect(job_id), { status: "succeeded" });
        for (const { job_id } of [next, other])
          expectFields(await rig.inspect(job_id), { status: "running", attempts: 1 });
      }
    },
  },
  {
    rule,
    name: "a renewal and a completion in flight together end in a completed job",
    async run(rig) {
      const { job_id, lease } = await rig.running();
      const [, answer] = await Promise.all([
        rig.worker.renew(lease),
        valueOf(rig.worker.complete(lease)),
        rig.worker.renew(lease),
      ]);
      expectEqual(answer, { completed: true });
      const seen = await rig.inspect(job_id);
      expectFields(seen, { status: "succeeded" });
      expectAbsent(seen.lease_expires_at, "lease");
    },
  },
];

/** What came of a completion and of a claim that one worker called in one turn: a verdict each, or the id of the claimed job. */
async function together(rig: Rig, lease: LeaseRequest, first: "complete" | "claim"): Promise<string[]> {
  const early = first === "claim" ? rig.worker.claim({ queue: "mail" }) : undefined;
  const completion = rig.worker.complete(lease);
  const claim = await (early ?? rig.worker.claim({ queue: "mail" }));
  const claimed = claim.ok ? claim.value.job_id : await verdictOf(Promise.resolve(claim));
  return [await verdictOf(completion), claimed];
}
