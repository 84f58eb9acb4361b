import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createJobsPlugin } from "../../plugin/plugin.ts";
import { databaseClock } from "../../plugin/store/sql-context.ts";
import { startProxy } from "../faults/support/proxy.ts";
import { givenClaimed, leaseOf, newJob, ok, problem, rowOf } from "../postgres/support/jobs.ts";
import { jobsDatabase } from "../postgres/support/jobs-database.ts";
import { configurationOf, drivers, startJobs } from "../postgres/support/jobs-host.ts";
import {
  expectEachJobInOnePlace,
  observer,
  pluginConnections,
  until,
  untilLocksWaitedFor,
  watch,
} from "../postgres/support/observe.ts";
import { testServer } from "../support/test-server.ts";

await testServer();

/** A way to the server on which a test can hold answers back for a while. */
async function startHoldingLink(url: string) {
  let held: (() => void)[] | undefined;
  const proxy = await startProxy(url, () => ({
    fromClient: (bytes, send) => send(bytes),
    fromServer: (bytes, send) => (held === undefined ? send(bytes) : void held.push(() => send(bytes))),
    outlivesClient: false,
  }));
  return {
    url: proxy.url,
    hold() {
      held = [];
    },
    release() {
      for (const send of held ?? []) send();
      held = undefined;
    },
    [Symbol.asyncDispose]: () => proxy.close(),
  };
}

describe.each(drivers)("over the driver %s", (driver) => {
  test("deactivation before start, twice and at once does nothing and fails nothing", async () => {
    const plugin = createJobsPlugin({ clock: databaseClock, maintenanceIntervalMs: 1000 });
    const instance = plugin.instantiate({ instanceKey: "jobs", configuration: configurationOf({ driver }) });
    const context = {
      instanceKey: "jobs",
      signal: new AbortController().signal,
      deadline: performance.now() + 1000,
      handle: () => undefined,
      handles: () => [],
    };
    await Promise.all([instance.deactivate?.(context), instance.deactivate?.(context)]);
    await instance.deactivate?.(context);
    const { url } = await jobsDatabase();
    const jobs = await startJobs({ url, driver });
    await Promise.all([jobs.stop(), jobs.stop()]);
    await jobs.stop();
    expect(problem(await jobs.producer.enqueue(newJob()))).toBe("runtime:admission_closed");
  });

  test("under load every call is answered or refused, what was accepted is stored, and no connection is left", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    const jobs = await startJobs({ url, driver });
    let stopped = false;
    const accepted = new Set<string>();
    const completed = new Set<string>();
    const outcomes: Record<string, number> = {};
    const count = (result: Parameters<typeof problem>[0]) => {
      outcomes[problem(result)] = (outcomes[problem(result)] ?? 0) + 1;
    };
    const produce = async () => {
      while (!stopped) {
        const result = await jobs.producer.enqueue(newJob());
        count(result);
        if (problem(result) === "runtime:admission_closed") return;
        if (result.ok) accepted.add(result.value.job_id);
      }
    };
    const work = async () => {
      while (!stopped) {
        const claimed = await jobs.worker.claim({ queue: "mail" });
        if (!claimed.ok) {
          count(claimed);
          if (problem(claimed) === "runtime:admission_closed") return;
          continue;
        }
        const done = await jobs.worker.complete(leaseOf(claimed.value));
        count(done);
        if (done.ok) completed.add(claimed.value.job_id);
      }
    };
    const load = [...Array.from({ length: 32 }, produce), ...Array.from({ length: 16 }, work)];
    await until("some work", async () => completed.size > 200);
    await jobs.stop();
    stopped = true;
    await Promise.all(load);

    const kinds = new Set(Object.keys(outcomes));
    for (const allowed of ["ok", "no_job_available", "runtime:admission_closed"]) kinds.delete(allowed);
    expect([...kinds]).toEqual([]);
    expect(await expectEachJobInOnePlace(sql)).toBe(accepted.size);
    const [row] = await sql`select count(*)::int as done from jobs.outcome where state = 's'`;
    expect(row.done).toBe(completed.size);
    await until("the plugin's connections to close", async () => (await pluginConnections(sql)) === 0);
  });

  test("a call that waits for a locked row is finished before the end, and one past the deadline is cut and told", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 3);
    const outcome = async (stopTimeoutMs: number, release: "before" | "after the answer") => {
      const jobs = await startJobs({ url, driver, stopTimeoutMs });
      const claimed = await givenClaimed(jobs);
      const blocker = await sql.reserve();
      await blocker`begin`;
      await blocker.unsafe(`select from jobs.lease where id = ${rowOf(claimed.job_id)} for update`);
      const answer = watch(jobs.worker.complete(leaseOf(claimed)));
      await untilLocksWaitedFor(sql);
      const stop = watch(jobs.stop());
      if (release === "after the answer") await answer.promise;
      await blocker`rollback`;
      await blocker.release();
      const result = problem(await answer.promise);
      await stop.promise.catch(() => undefined);
      await until("the plugin's connections to close", async () => (await pluginConnections(sql)) === 0);
      return result;
    };
    expect(await outcome(10_000, "before")).toBe("ok");
    expect(await outcome(300, "after the answer")).toBe("runtime:unavailable");
    await expectEachJobInOnePlace(sql);
  });

  test("a completion that went with a claim is finished before the end, although the claim was answered long before", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 2);
    await using link = await startHoldingLink(url);
    const jobs = await startJobs({ url: link.url, driver });
    const { job_id, lease_token } = await givenClaimed(jobs);
    const next = ok(await jobs.producer.enqueue(newJob()));
    const blocker = await sql.reserve();
    try {
      await blocker`begin`;
      await blocker.unsafe(`select from jobs.lease where id = ${rowOf(job_id)} for update`);
      const ended = watch(jobs.worker.complete({ job_id, lease_token }));
      expect(ok(await jobs.worker.claim({ queue: "mail" })).job_id).toBe(next.job_id);
      link.hold(); // where the lease is, which their statement left out, is being asked; it will have to be waited for
      const stop = watch(jobs.stop());
      for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      expect([ended.open, stop.open]).toEqual([true, true]);
      link.release();
      await Promise.race([untilLocksWaitedFor(sql), ended.promise]);
      await blocker`rollback`;
      expect(problem(await ended.promise)).toBe("ok");
      await stop.promise;
    } finally {
      await blocker`rollback`;
      await blocker.release();
    }
    await expectEachJobInOnePlace(sql);
  });

  test("a module's own calls work until its deactivation ends, claims do not", async () => {
    const { url } = await jobsDatabase();
    await using sql = observer(url, 1);
    const jobs = await startJobs({ url, driver });
    const claimed = await givenClaimed(jobs);
    const stopping = jobs.stop();
    expect(problem(await jobs.worker.claim({ queue: "mail" }))).toBe("runtime:admission_closed");
    expect(problem(await jobs.worker.complete(leaseOf(claimed)))).toBe("runtime:admission_closed");
    await stopping;
    await expectEachJobInOnePlace(sql);
  });

  test.each(["unused", "idle", "busy"])(
    "a process that was %s ends by itself soon after its host stopped",
    async (mode) => {
      const { url } = await jobsDatabase();
      await using sql = observer(url, 1);
      const child = Bun.spawn(
        [process.execPath, join(import.meta.dir, "support/stop-and-exit.ts"), driver, mode],
        {
          env: { ...process.env, CHILD_DATABASE_URL: url },
          stdout: "pipe",
          stderr: "inherit",
          timeout: 15_000,
        },
      );
      let stoppedAt = 0;
      let output = "";
      for await (const bytes of child.stdout) {
        output += new TextDecoder().decode(bytes);
        if (output.includes("STOPPED") && stoppedAt === 0) stoppedAt = performance.now();
      }
      expect(await child.exited).toBe(0);
      expect(output).toBe(`STOPPED ${mode === "busy" ? 500 : 0}\n`);
      expect(performance.now() - stoppedAt).toBeLessThan(1000);
      expect(await pluginConnections(sql)).toBe(0);
      await expectEachJobInOnePlace(sql);
    },
  );
});

test("the connections that were there are gone at the moment when the stop resolves", async () => {
  const { url } = await jobsDatabase();
  await using sql = observer(url, 1);
  for (const driver of drivers) {
    const jobs = await startJobs({ url, driver });
    await Promise.all(Array.from({ length: 50 }, () => jobs.producer.enqueue(newJob())));
    ok(await jobs.worker.claim({ queue: "mail" }));
    expect(await pluginConnections(sql)).toBeGreaterThan(0);
    await jobs.stop();
    await until("the server to notice", async () => (await pluginConnections(sql)) === 0, 1000);
  }
});
