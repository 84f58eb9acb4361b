import { describe, expect, test } from "bun:test";
import type { EnqueueRequest } from "../../capability/index.ts";
import { backends, open, openPostgres, postgresBackends } from "./support/backends.ts";
import {
  domain,
  inspectJob,
  jobRequest,
  leaseOf,
  times,
  valueOf,
  valuesOf,
  verdictOf,
} from "./support/given.ts";

describe.each(backends)("a key under contention, %s", (backend) => {
  test("of 50 calls at once with two payloads one intent wins, and all others of it are duplicates", async () => {
    await using bundle = await open(backend);
    for (let round = 0; round < 5; round += 1) {
      const request = jobRequest();
      const answers = await Promise.all(
        times(50, async (index) => {
          const half = index % 2;
          return { half, answer: await bundle.producer.enqueue({ ...request, payload: { half } }) };
        }),
      );
      const winners = answers.filter(({ answer }) => answer.ok);
      expect(new Set(winners.map(({ half }) => half)).size).toBe(1);
      expect(winners).toHaveLength(25);
      const values = winners.flatMap(({ answer }) => (answer.ok ? [answer.value] : []));
      expect(values.filter(({ created }) => created)).toHaveLength(1);
      expect(new Set(values.map(({ job_id }) => job_id)).size).toBe(1);
      const losers = answers.filter(({ answer }) => !answer.ok).map(({ answer }) => answer);
      expect(losers).toEqual(losers.map(() => domain("idempotency_conflict")));
    }
  });

  test("of equal calls at once exactly one is told that it created the job", async () => {
    await using bundle = await open(backend);
    const requests = times(20, () => jobRequest());
    const answers = await valuesOf(
      times(200, (index) => bundle.producer.enqueue(requests[index % 20] as EnqueueRequest)),
    );
    expect(answers.filter(({ created }) => created)).toHaveLength(20);
    expect(new Set(answers.map(({ job_id }) => job_id)).size).toBe(20);
  });
});

describe.each(postgresBackends)("a key that several processes write, %s", (backend) => {
  test("no enqueue is lost: every call of 4 producers hears of a job that is there", async () => {
    await using bundle = await openPostgres(backend);
    await using second = await bundle.another();
    const ids = new Set<string>();
    let producing = 4;
    const producer = async (number: number) => {
      const client = [bundle, second][number % 2]?.[number < 2 ? "producer" : "producer2"];
      for (let each = 0; each < 100; each += 1) {
        const round = Math.floor(each / 20);
        const request = { ...jobRequest(), idempotency_key: `key-${round}-${each % 10}`, payload: { round } };
        const answer = await client?.enqueue(request);
        expect(verdictOf(answer as never)).toBe("ok");
        if (answer?.ok) ids.add(answer.value.job_id);
      }
      producing -= 1;
    };
    const finished: string[] = [];
    const worker = async (client: typeof bundle.worker) => {
      for (;;) {
        const done = producing === 0;
        const claim = await client.claim({ queue: "mail" });
        if (claim.ok) {
          await valueOf(client.complete(leaseOf(claim.value)));
          finished.push(claim.value.job_id);
        } else if (done) return;
      }
    };
    await Promise.all([...times(4, producer), worker(bundle.worker), worker(second.worker2)]);
    expect(ids.size).toBe(100); // 50 keys of each of two callers
    expect(finished.toSorted()).toEqual([...ids].toSorted());
  });

  test("two processes with two payloads at once: one intent wins for both", async () => {
    await using bundle = await openPostgres(backend);
    await using second = await bundle.another();
    for (let round = 0; round < 20; round += 1) {
      const request = jobRequest();
      const answers = await Promise.all(
        times(10, async (index) => {
          const side = index % 2;
          const { producer } = side === 0 ? bundle : second;
          return { side, verdict: verdictOf(await producer.enqueue({ ...request, payload: { side } })) };
        }),
      );
      const winners = new Set(answers.filter(({ verdict }) => verdict === "ok").map(({ side }) => side));
      expect(winners.size).toBe(1);
      expect(answers.filter(({ verdict }) => verdict === "idempotency_conflict")).toHaveLength(5);
    }
  });

  const uncommitted = (key: string) => `
    insert into jobs (producer, queue, requested_at, created_at, max_attempts, nonce, intent, kind, idempotency_key, payload)
    select producer, queue, requested_at, created_at, max_attempts, '\\x00000000000000000000', intent, kind, '${key}', payload
    from jobs limit 1;
    insert into ready (queue, next_run, id, updated_at, bytes, max_attempts)
    select queue, created_at, id, created_at, 2, max_attempts from jobs where idempotency_key = '${key}'`;

  test.each(["commits", "rolls back"] as const)(
    "an enqueue waits for one that is not committed yet, which then %s",
    async (how) => {
      await using bundle = await openPostgres(backend);
      const first = jobRequest();
      await valueOf(bundle.producer.enqueue(first));
      const request = { ...first, idempotency_key: "contended" };
      const blocker = await bundle.database.block(uncommitted("contended"));
      const answer = bundle.producer.enqueue(request);
      const neighbour = bundle.producer.enqueue(jobRequest());
      await bundle.database.waiting(1);
      await (how === "commits" ? blocker.commit() : blocker.rollback());
      const { job_id, created } = await valueOf(answer);
      expect(created).toBe(how === "rolls back");
      expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "queued", attempts: 0 });
      expect(await valueOf(neighbour)).toMatchObject({ created: true });
    },
  );

  test.each(["before", "after"])(
    "one that waits for long delays no neighbour that arrived %s it",
    async (place) => {
      await using bundle = await openPostgres(backend);
      const first = jobRequest();
      await valueOf(bundle.producer.enqueue(first));
      const blocker = await bundle.database.block(uncommitted("contended"));
      const contended = () => bundle.producer.enqueue({ ...first, idempotency_key: "contended" });
      const early = place === "after" ? contended() : undefined;
      const neighbour = bundle.producer.enqueue(jobRequest(), { timeoutMs: 5000 });
      const answer = early ?? contended();
      expect(verdictOf(await neighbour)).toBe("ok");
      await blocker.commit();
      expect(await valueOf(answer)).toMatchObject({ created: false });
    },
  );

  test("an enqueue of a running job waits for nobody and moves nothing", async () => {
    await using bundle = await openPostgres(backend);
    const request = jobRequest();
    const { job_id } = await valueOf(bundle.producer.enqueue(request));
    await valueOf(bundle.worker.claim({ queue: "mail" }));
    const blocker = await bundle.database.block("select from lease for update");
    expect(await valueOf(bundle.producer.enqueue(request))).toEqual({ job_id, created: false });
    await blocker.commit();
    expect(await inspectJob(bundle, job_id)).toMatchObject({ status: "running", attempts: 1 });
  });
});
