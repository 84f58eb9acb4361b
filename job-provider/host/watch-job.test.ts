import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { startProxy } from "../../tests/faults/support/proxy.ts";
import type { JobProjectionEvent } from "../lifecycle/job-events.ts";
import type { JobReference, JobSnapshot } from "../lifecycle/job-snapshot.ts";
import { reduceJobSnapshot } from "../lifecycle/reduce-job-snapshot.ts";
import { type HostWorld, openHostWorld } from "./testing/host-world.ts";

/** So seldom that whoever hears of an event in a test was notified. */
const rarely = { pollIntervalMs: 60_000 };

/** Moves a job to `waiting` and back to `queued`, so many times, as one statement a move. */
async function moveBackAndForth(world: HostWorld, { jobId }: JobReference, moves: number): Promise<void> {
  await world.sql.begin(async (sql) => {
    await sql`insert into event (job, revision, at, type, state)
      select id, revision + n, clock_timestamp(), 'job-lifecycle-changed', case when (revision + n) % 2 = 0 then 'waiting' else 'queued' end
      from job, generate_series(1, ${moves}::int) n where id = ${jobId}`;
    await sql`update job set revision = revision + ${moves}::int,
      state = case when (revision + ${moves}::int) % 2 = 0 then 'waiting' else 'queued' end where id = ${jobId}`;
  });
}

const revisionsOf = (events: readonly JobProjectionEvent[]): number[] =>
  events.map(({ revision }) => revision);

async function allOf(events: AsyncIterable<JobProjectionEvent>): Promise<JobProjectionEvent[]> {
  return Array.fromAsync(events);
}

test("a watch tells every event once and in order, and its fold is the job", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const reference = await world.accept(host);
  await moveBackAndForth(world, reference, 250); // more than two pages
  await host.cancel(reference);
  let snapshot: JobSnapshot | undefined;
  for (const event of await allOf(host.watch(reference))) snapshot = reduceJobSnapshot(snapshot, event);
  expect(snapshot).toEqual((await host.get(reference)) as JobSnapshot);
  expect(snapshot).toMatchObject({ revision: 252, state: "cancelled" });
});

test("a watch resumes after any revision, and one after the last event is over at once", async () => {
  await using world = await openHostWorld();
  const host = world.host(rarely);
  const reference = await world.accept(host);
  await moveBackAndForth(world, reference, 3);
  await host.cancel(reference);
  for (const after of [0, 1, 3, 4, 5, 99])
    expect(revisionsOf(await allOf(host.watch(reference, { after })))).toEqual(
      [1, 2, 3, 4, 5].filter((revision) => revision > after),
    );
});

test("a watch hears of events of other processes without waiting for its poll", async () => {
  await using world = await openHostWorld();
  const [host, other] = [world.host(rarely), world.host()];
  const reference = await world.accept(other);
  const watch = host.watch(reference, { after: 1 });
  const first = watch.next();
  await moveBackAndForth(world, reference, 1);
  expect(await first).toMatchObject({ value: { revision: 2, state: "waiting" } });
  const rest = allOf(watch);
  await other.cancel(reference);
  expect(revisionsOf(await rest)).toEqual([3]);
});

test("a watch finds events by its poll where notifications do not arrive", async () => {
  await using world = await openHostWorld();
  const host = world.host({ pollIntervalMs: 50 });
  const reference = await world.accept(host);
  const watch = host.watch(reference, { after: 1 });
  const first = watch.next();
  await world.sql.unsafe("alter table event disable trigger told").simple();
  await moveBackAndForth(world, reference, 1);
  expect(await first).toMatchObject({ value: { revision: 2 } });
  await world.sql.unsafe("alter table event enable trigger told").simple();
  await watch.return?.();
});

test("leaving the loop, return while waiting, the signal and the host's close all end a watch", async () => {
  await using world = await openHostWorld();
  const host = world.host(rarely);
  const reference = await world.accept(host);
  const left = host.watch(reference);
  for await (const event of left) {
    expect(event.type).toBe("job-accepted");
    break;
  }
  expect(await left.next()).toEqual({ done: true, value: undefined });

  const returned = host.watch(reference, { after: 1 });
  const waiting = returned.next();
  await returned.return?.();
  expect(await waiting).toEqual({ done: true, value: undefined });

  const aborting = new AbortController();
  const aborted = host.watch(reference, { after: 1, signal: aborting.signal }).next();
  aborting.abort(new Error("seen enough"));
  await expect(aborted).rejects.toThrow("seen enough");
  const early = host.watch(reference, { signal: aborting.signal });
  await expect(early.next()).rejects.toThrow("seen enough");

  const closed = host.watch(reference, { after: 1 }).next();
  const unread = host.watch(reference);
  const closing = host.close();
  await expect(closed).rejects.toMatchObject({ code: "closed" });
  await closing;
  await expect(unread.next()).rejects.toMatchObject({ code: "closed" });
  expect(() => host.watch(reference)).toThrow("the host is closed");
});

test("a watch of no job, or of another host's, says so", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const { jobId } = await world.accept(host);
  const ids = ["00000000-0000-7000-8000-000000000000", "'; drop table job", "\0"];
  for (const reference of [{ hostId: "other", jobId }, ...ids.map((id) => ({ hostId: "test", jobId: id }))])
    await expect(host.watch(reference).next()).rejects.toMatchObject({ code: "job-not-found" });
  expect(() => host.watch({ hostId: "test", jobId }, { after: -1 })).toThrow("/watch/after");
});

test("a watch waits an outage of the database out, and misses nothing", async () => {
  await using world = await openHostWorld();
  await using proxy = await startProxy(world.url);
  const host = world.host({ database: { connectionString: proxy.url }, pollIntervalMs: 50 });
  const reference = await world.accept(host);
  const watch = host.watch(reference);
  await watch.next();
  proxy.mode = "refuse";
  proxy.cut();
  const next = watch.next();
  await until(() => world.told.length > 0);
  await moveBackAndForth(world, reference, 2);
  proxy.mode = "forward";
  expect(await next).toMatchObject({ value: { revision: 2 } });
  expect(await watch.next()).toMatchObject({ value: { revision: 3 } });
  await watch.return?.();
});

test("a watch over 10 000 events holds a page of them at a time", async () => {
  await using world = await openHostWorld();
  const host = world.host();
  const reference = await world.accept(host);
  await moveBackAndForth(world, reference, 9998);
  await host.cancel(reference);
  const held: number[] = [];
  const before = liveObjects();
  let events = 0;
  for await (const _ of host.watch(reference)) {
    events += 1;
    if (events % 2500 === 500) held.push(liveObjects() - before);
  }
  expect(events).toBe(10_000);
  // Each event is an object; a page of them is a hundred, and whatever else is alive is not thousands.
  expect(Math.max(...held)).toBeLessThan(2000);
});

/** Plain objects that are alive in this process. */
function liveObjects(): number {
  Bun.gc(true);
  return heapStats().objectTypeCounts["Object"] ?? 0;
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(setImmediate);
}
