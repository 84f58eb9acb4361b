import { expect, test } from "bun:test";
import { join } from "node:path";
import { checkJobHost } from "../../job-provider/host/testing/check-job-host.ts";
import { noticeOrder } from "./support/fault-orders.ts";
import { type FaultWorld, openFaultWorld } from "./support/open-fault-world.ts";

const isLong = process.env.JOB_FAULTS_LONG === "1";

/** What a program prints at its end. */
async function outputOf(world: FaultWorld, program: string, asked: object): Promise<unknown> {
  const { url, directory, receiver } = world;
  const options = { url, directory, receiver: receiver.url.href, ...asked };
  await using child = Bun.spawn(
    [process.execPath, join(import.meta.dir, "support", program), JSON.stringify(options)],
    { stdout: "pipe", stderr: "inherit" },
  );
  return JSON.parse(await child.stdout.text());
}

test(
  "a large artifact is published, checked again and read back in constant memory",
  async () => {
    await using world = await openFaultWorld();
    const mebibytes = isLong ? 1024 : 192;
    const { revision } = world.submission(noticeOrder).input;
    const output = await outputOf(world, "bulk-program.ts", { mebibytes, revision });
    expect(output).toEqual({
      read: mebibytes * 2 ** 20,
      isWhole: true,
      grownMebibytes: expect.any(Number),
    });
    if (isLong) console.log(JSON.stringify({ mebibytes, output }));
    expect((output as { grownMebibytes: number }).grownMebibytes).toBeLessThan(96);
    await checkJobHost(world.sql);
  },
  isLong ? 600_000 : 120_000,
);

test("ten thousand events are watched many times at once in constant memory, each once and in order", async () => {
  await using world = await openFaultWorld();
  const { sql } = world;
  const reference = await world.accept(noticeOrder);
  const events = 10_000;
  const watching = outputOf(world, "watching-program.ts", { reference, watches: 10 });
  for (let last = 1; last < events; last += 500)
    await moveOn(world, reference.jobId, Math.min(500, events - last));
  await world.host.cancel(reference);
  const output = await watching;
  if (isLong) console.log(JSON.stringify({ events, output }));
  expect(output).toEqual({ fewest: events + 1, areWhole: true, grownMebibytes: expect.any(Number) });
  expect((output as { grownMebibytes: number }).grownMebibytes).toBeLessThan(64);
  await checkJobHost(sql);
});

/** Lets a job that waits to be run wait and be queued again, so many events long. */
async function moveOn({ sql }: FaultWorld, id: string, count: number): Promise<void> {
  await sql`
    with moved as (
      update job set revision = revision + ${count}::int, state = case when (revision + ${count}::int) % 2 = 1 then 'queued' else 'waiting' end
      where id = ${id} returning revision
    )
    insert into event (job, revision, at, type, state)
    select ${id}::uuid, n, now(), 'job-lifecycle-changed', case when n % 2 = 1 then 'queued' else 'waiting' end
    from moved, generate_series(moved.revision - ${count}::int + 1, moved.revision) as n order by n`;
}
