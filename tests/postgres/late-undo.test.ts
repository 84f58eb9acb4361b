import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { SQL } from "bun";
import type { ClaimResponse } from "../../capability/index.ts";
import { type DatabaseClock, databaseClock } from "../../host-fixtures/index.ts";
import { type LinkTap, type Proxy, startProxy } from "../faults/support/proxy.ts";
import { testServer } from "../support/test-server.ts";
import { leaseOf, newJob, ok, problem } from "./support/jobs.ts";
import { jobsDatabase } from "./support/jobs-database.ts";
import { drivers, type JobsHost, startJobs } from "./support/jobs-host.ts";
import { expectEachJobInOnePlace, observer, until } from "./support/observe.ts";

await testServer();

describe.each(drivers)("an undo that arrives late, over the driver %s", (driver) => {
  let url: string;
  let sql: SQL;
  let clock: DatabaseClock;
  let jobs: JobsHost;
  beforeAll(async () => {
    ({ url } = await jobsDatabase());
    sql = observer(url);
    clock = databaseClock(url);
    await clock.freeze();
    jobs = await startJobs({ url, driver });
  });
  beforeEach(async () => {
    await sql`truncate jobs.jobs, jobs.ready, jobs.lease, jobs.outcome`;
  });
  afterAll(async () => {
    await jobs.stop();
    expect(await expectEachJobInOnePlace(sql)).toBe(1);
    await Promise.all([clock.close(), sql.close()]);
  });

  /**
   * Another process claims a job, and its caller leaves while the answer is on the way. It arrives, and the undo is sent, after
   * `meanwhile`. Resolves when the undo has been answered.
   */
  async function lateUndo(meanwhile: (job_id: string) => Promise<void>): Promise<void> {
    const kind = `held-${crypto.randomUUID()}`;
    await using held = await holdAnswersWith(kind, url);
    await using late = await startJobs({ url: held.url, driver });
    const { job_id } = ok(await jobs.producer.enqueue(newJob({ kind })));
    const leave = new AbortController();
    const claim = late.worker.claim({ queue: "mail" }, { signal: leave.signal });
    await held.arrived;
    await until("the claim's commit", async () => {
      const rows = await sql`select from jobs.lease`;
      return rows.length === 1;
    });
    leave.abort();
    expect(problem(await claim)).toBe("runtime:cancelled");
    await meanwhile(job_id);
    held.release();
    await late.stop(); // awaits the undo
  }

  test("gives the job back when nobody came in between", async () => {
    await lateUndo(() => clock.advance(30_000));
    const rows = await sql`select attempt::int, generation::int from jobs.ready`;
    expect([...rows]).toEqual([{ attempt: 0, generation: 1 }]);
  });

  test("leaves the lease alone under which the job was claimed anew after the first one expired", async () => {
    let second: ClaimResponse | undefined;
    await lateUndo(async (job_id) => {
      await clock.advance(30_000);
      second = ok(await jobs.otherWorker.claim({ queue: "mail" }));
      expect(second).toMatchObject({ job_id, attempt: 2 });
    });
    const lease = leaseOf(second as ClaimResponse);
    const seen = ok(await jobs.observer.inspect({ job_id: lease.job_id }));
    expect(seen).toMatchObject({ status: "running", attempts: 2, last_failure_code: "lease_expired" });
    expect(problem(await jobs.otherWorker.renew(lease))).toBe("ok");
    expect(problem(await jobs.otherWorker.complete(lease))).toBe("ok");
  });
});

interface HeldAnswers extends Pick<Proxy, "url">, AsyncDisposable {
  /** The first of them is here, and goes no further yet. */
  readonly arrived: Promise<void>;
  /** Delivers what was held, in order. */
  release(): void;
}

/** A way to the server on which an answer with this text, and what follows it on its connection, waits for its release. */
async function holdAnswersWith(text: string, targetUrl: string): Promise<HeldAnswers> {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const kept: (() => void)[] = [];
  let isOver = false;
  const tapLink = (): LinkTap => {
    let isHeld = false;
    return {
      fromClient: (bytes, send) => send(bytes),
      fromServer(bytes, send) {
        isHeld ||= !isOver && bytes.includes(text);
        if (!isHeld || isOver) return send(bytes);
        kept.push(() => send(bytes));
        resolve();
      },
      outlivesClient: false,
    };
  };
  const proxy = await startProxy(targetUrl, tapLink);
  return {
    url: proxy.url,
    arrived,
    release() {
      isOver = true;
      for (const deliver of kept.splice(0)) deliver();
    },
    [Symbol.asyncDispose]: () => proxy.close(),
  };
}
