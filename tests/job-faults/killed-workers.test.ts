import { expect, test } from "bun:test";
import { checkJobHost } from "../../job-provider/host/testing/check-job-host.ts";
import { seededRandom } from "../contract/support/given.ts";
import { attendToAll } from "./support/attend-to-all.ts";
import { endOf } from "./support/end-of.ts";
import { type FaultOrder, noticeOrder, repeatableOrders } from "./support/fault-orders.ts";
import { finishAll } from "./support/finish-all.ts";
import { type AcceptedOrder, keepOrders } from "./support/keep-orders.ts";
import { killWorkers } from "./support/kill-workers.ts";
import { type FaultWorld, openFaultWorld } from "./support/open-fault-world.ts";
import { lateWrites } from "./support/watch-late-writes.ts";

const isLong = process.env.JOB_FAULTS_LONG === "1";
const kills = isLong ? 200 : 20;
const seed = Number(process.env.JOB_FAULTS_SEED ?? crypto.getRandomValues(new Uint32Array(1))[0]);

/** How each order ends when nobody dies. */
async function undisturbedEnds(world: FaultWorld): Promise<Map<FaultOrder, unknown>> {
  const accepted = await Promise.all(
    repeatableOrders.map(async (order) => ({ order, reference: await world.accept(order) })),
  );
  await finishAll(world);
  const ends = new Map<FaultOrder, unknown>();
  for (const { order, reference } of accepted) ends.set(order, await endOf(world.host, reference));
  return ends;
}

/** What has become of the notices before anybody looks at those that ask for attention: known to have been delivered, or never completed. */
async function expectNoNoticeGuessed(world: FaultWorld, notices: readonly AcceptedOrder[]): Promise<void> {
  for (const { reference } of notices) {
    const taken = world.receiver.notices.filter((notice) => notice.reference === reference.jobId);
    const result = await world.host.result(reference);
    expect(taken.length).toBeLessThanOrEqual(1);
    if (result?.state === "completed")
      expect([result.value]).toEqual(taken.map(({ receipt }) => ({ receipt })));
    else expect(result).toEqual({ state: "attention_required", code: "ATTEMPT_LOST" });
  }
}

test(
  `${kills} workers that die, each in the middle of ten jobs or more, leave every job as if none had died (seed ${seed})`,
  async () => {
    await using world = await openFaultWorld();
    const { host, sql, receiver } = world;
    // Each its own: how often one is asked depends on the machine.
    const [deathOf, orderOf, delayOf] = [seededRandom(seed), seededRandom(seed + 1), seededRandom(seed + 2)];
    const ends = await undisturbedEnds(world);
    receiver.delayMs = () => delayOf(1500);
    const accepted: AcceptedOrder[] = [];
    const deaths = await killWorkers(world, {
      kills,
      random: deathOf,
      refill: async () => {
        const orders = [...repeatableOrders, noticeOrder];
        accepted.push(...(await keepOrders(world, orders, { each: 7, random: orderOf })));
      },
      rest: async () => {
        if (accepted.length % 8 === 0) await checkJobHost(sql); // now and then: it takes a while
      },
    });
    await finishAll(world);

    const notices = accepted.filter(({ order }) => order === noticeOrder);
    await expectNoNoticeGuessed(world, notices);
    const attended = await attendToAll(
      world,
      notices.map(({ reference }) => reference),
    );
    await finishAll(world);

    for (const { order, reference } of accepted.filter((each) => each.order !== noticeOrder))
      expect(await endOf(host, reference)).toEqual(ends.get(order));
    for (const { reference } of notices) {
      const taken = receiver.notices.filter((notice) => notice.reference === reference.jobId);
      const ended = await host.result(reference);
      expect(ended?.state).toBe("completed");
      expect([ended]).toEqual(taken.map(({ receipt }) => ({ state: "completed", value: { receipt } })));
    }
    await checkJobHost(sql);
    expect(await lateWrites(sql)).toEqual([]);
    expect(world.told).toEqual([]);

    const [figures] = await sql`
      select count(*)::int as jobs, count(*) filter (where resumed_from is not null)::int as resumed,
        (select count(*)::int from event where state = 'running') as attempts from job`;
    const met = deaths.attempts.reduce((sum, each) => sum + each);
    console.log(JSON.stringify({ seed, kills, met, late: deaths.late, ...figures, attended }));
    if (!isLong) return; // where twenty deaths fall depends on the machine; two hundred meet everything
    expect(figures.resumed).toBeGreaterThan(0);
    expect(attended.completed).toBeGreaterThan(0);
    expect(deaths.late).toBeGreaterThan(0);
  },
  isLong ? 3_600_000 : 240_000,
);

test("a write of an attempt that does not hold its job is found by what watches for it", async () => {
  await using world = await openFaultWorld();
  const { jobId } = await world.accept(noticeOrder);
  await world.sql`
    insert into log (job, ordinal, at, attempt, level, message) values (${jobId}, 1, now(), '1.1', 'info', '"late"')`;
  await world.sql`update job set settled_by = '1/x/1', progress_at = now() where id = ${jobId}`;
  expect(await lateWrites(world.sql)).toEqual([
    { what: "log", job: jobId, attempt: "1.1" },
    { what: "progress", job: jobId, attempt: null },
    { what: "settlement", job: jobId, attempt: "1/x/1" },
  ]);
});
