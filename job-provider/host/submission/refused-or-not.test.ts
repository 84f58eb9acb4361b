import { expect, test } from "bun:test";
import { SQL } from "bun";
import { untilLocksWaitedFor } from "../../../tests/postgres/support/observe.ts";
import { hostProviders } from "../testing/host-providers.ts";
import { type HostWorld, openHostWorld } from "../testing/host-world.ts";

/** A submission whose insert waits in the database, and whose caller has given up; `finish` lets it go on. */
async function givenUnfinished(world: HostWorld) {
  const locker = await world.sql.reserve();
  await locker`begin`;
  await locker`lock table event in share mode`;
  const aborting = new AbortController();
  const submission = world.submission({ signal: aborting.signal });
  const submitting = world.host().submit(submission);
  await untilLocksWaitedFor(world.sql, 1, "relation");
  aborting.abort();
  expect(await submitting).toMatchObject({ status: "unknown" });
  const { signal: _, ...request } = submission;
  let finished: Promise<unknown> | undefined;
  const finish = async (): Promise<void> => {
    finished ??= locker`commit`.then(() => locker.release());
    await finished;
  };
  return { request, finish, [Symbol.asyncDispose]: finish };
}

test("a refusal waits for the same request that is still being recorded, and finds its job", async () => {
  await using world = await openHostWorld();
  await using unfinished = await givenUnfinished(world);
  const deployed = world.host({ providers: hostProviders(world.work, { version: "2.0.0" }) });
  const submitting = deployed.submit(unfinished.request);
  await untilLocksWaitedFor(world.sql, 1, "advisory");
  await unfinished.finish();
  expect(await submitting).toMatchObject({ status: "accepted", deduplicated: true });
});

test("a submission that waited too long for the same request has an unknown outcome, be it refused or accepted else", async () => {
  await using world = await openHostWorld();
  await using impatient = new SQL(world.url, { max: 2, connection: { lock_timeout: "200ms" } });
  await using unfinished = await givenUnfinished(world);
  const providers = hostProviders(world.work, { version: "2.0.0" });
  const refusing = world.host({ providers, database: { pool: impatient } });
  const accepting = world.host({ database: { pool: impatient } });
  for (const host of [refusing, accepting])
    expect(await host.submit(unfinished.request)).toMatchObject({ status: "unknown" });
  await unfinished.finish();
  expect(await refusing.submit(unfinished.request)).toMatchObject({ status: "accepted", deduplicated: true });
  await Promise.all([refusing.close(), accepting.close()]);
});

test("a request that another process accepted during the admission is not refused", async () => {
  await using world = await openHostWorld();
  const looking = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<undefined>();
  const list = (): Promise<undefined> => {
    looking.resolve();
    return gone.promise;
  };
  const submission = world.submission();
  const slow = world.host({ revisions: { ...world.revisions, list } }).submit(submission);
  await looking.promise;
  const accepted = await world.host().submit(submission);
  gone.resolve(undefined);
  expect(await slow).toEqual({ ...accepted, deduplicated: true } as typeof accepted);
});

test("a caller's signal ends its call during the admission, whether or not the store looks at it", async () => {
  await using world = await openHostWorld();
  const looking = Promise.withResolvers<void>();
  const list = (): Promise<never> => {
    looking.resolve();
    return new Promise(() => undefined);
  };
  const aborting = new AbortController();
  const submitting = world
    .host({ revisions: { ...world.revisions, list } })
    .submit(world.submission({ signal: aborting.signal }));
  await looking.promise;
  aborting.abort(new Error("not that patient"));
  await expect(submitting).rejects.toThrow("not that patient");
});
