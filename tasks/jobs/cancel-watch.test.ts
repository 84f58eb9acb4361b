import { expect, test } from "bun:test";
import { SQL } from "bun";
import pg from "pg";
import { aborted, within } from "../conformance/rig.ts";
import type { ClaimedTask, Execute } from "../provider.ts";
import type { JobsTaskProviderOptions } from "./options.ts";
import { newTask } from "./testing/given.ts";
import { openTaskWorld, type TaskWorld } from "./testing/task-world.ts";

/** Claims that hold for ten minutes: whatever aborts a handler sooner was no pulse of the interval. */
const openWorld = () => openTaskWorld({ leaseSeconds: 600 });

/** A worker whose handlers end when their signal aborts. */
function startHeld(world: TaskWorld, options: Partial<JobsTaskProviderOptions>) {
  const entered: ClaimedTask[] = [];
  const arrivals = Array.from({ length: 3 }, () => Promise.withResolvers<ClaimedTask>());
  const execute: Execute = async (claimed) => {
    arrivals[entered.length]?.resolve(claimed);
    entered.push(claimed);
    await aborted(claimed.signal);
    return { ok: false, error: "aborted", final: false };
  };
  const provider = world.provider(options);
  const worker = provider.startWorker(execute, { concurrency: 3 });
  return {
    provider,
    worker,
    run: (index: number) => within(arrivals[index]?.promise ?? Promise.reject(new Error("no more")), "a run"),
  };
}

const connections = {
  "connections of its own by Bun": () => ({ driver: "bun" as const }),
  "connections of its own by pg": () => ({ driver: "pg" as const }),
  "a borrowed pg.Pool": (url: string) => ({ pool: new pg.Pool({ connectionString: url, max: 2 }) }),
  "a borrowed Bun.SQL": (url: string) => ({ pool: new SQL(url, { max: 2 }) }),
};

test.each(Object.entries(connections))(
  "a cancel request of another process reaches a worker on %s",
  async (_, make) => {
    const world = await openWorld();
    const options: Partial<JobsTaskProviderOptions> = make(world.url);
    const held = startHeld(world, options);
    const canceller = world.provider();
    const jobId = await canceller.enqueue(newTask());
    const { signal } = await held.run(0);
    expect(await canceller.cancel(jobId)).toBe("requested");
    await aborted(signal);
    expect((signal.reason as Error).name).toBe("JobCancelled");
    await held.worker.stop();
    expect(await canceller.get(jobId)).toMatchObject({ state: "cancelled" });
    await world[Symbol.asyncDispose]();
    const { pool } = options;
    if (pool instanceof pg.Pool) await pool.end();
    if (pool instanceof Function) await (pool as unknown as SQL).close();
  },
);

test.each(["bun", "pg"] as const)(
  "a listening connection that is lost is replaced, and what was missed meanwhile is asked about (%s)",
  async (driver) => {
    await using world = await openWorld();
    const held = startHeld(world, { driver });
    const canceller = world.provider();
    const first = await canceller.enqueue(newTask());
    const missed = await held.run(0);
    expect(missed.jobId).toBe(first);
    await untilListening(world, 1);
    // Asked for without any notice, as if it had been sent while nobody listened.
    await world.sql`update task set cancel_requested = true where id = ${first}`;
    for (const { pid } of await listeners(world)) await world.sql`select pg_terminate_backend(${pid}::int)`;
    await aborted(missed.signal);
    const second = await canceller.enqueue(newTask());
    const { signal } = await held.run(1);
    expect(await canceller.cancel(second)).toBe("requested");
    await aborted(signal);
    await held.worker.stop();
  },
);

test("a provider without a worker does not listen, and one whose worker has stopped listens no more", async () => {
  await using world = await openWorld();
  const held = startHeld(world, {});
  await untilListening(world, 1);
  await held.worker.stop();
  await untilListening(world, 0);
  await held.provider.enqueue(newTask());
  expect(await listeners(world)).toEqual([]);
});

async function untilListening(world: TaskWorld, count: number): Promise<void> {
  const deadline = Date.now() + 10_000;
  while ((await listeners(world)).length !== count) {
    if (Date.now() > deadline) throw new Error(`waited in vain for ${count} listening connections`);
    await Bun.sleep(10);
  }
}

async function listeners({ sql }: TaskWorld): Promise<{ pid: number }[]> {
  return [
    ...(await sql`select pid from pg_stat_activity where datname = current_database()
      and query ilike 'listen%' and query ilike '%lenso_task_cancel%'`),
  ];
}
