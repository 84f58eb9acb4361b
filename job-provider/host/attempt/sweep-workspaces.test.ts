import { expect, test } from "bun:test";
import { mkdir, readdir, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { databaseClock } from "../../../plugin/store/sql-context.ts";
import { checkJobHostOptions } from "../host-options.ts";
import { migrateJobHost } from "../migration/migrate-job-host.ts";
import { openHost } from "../open-host.ts";
import { sweepWorkspaces } from "./sweep-workspaces.ts";
import { claimOne, enter, openAttemptWorld } from "./testing/attempt-world.ts";

test("a worker that starts removes what dead attempts left, never the workspace of one that runs", async () => {
  await using world = await openAttemptWorld();
  const running = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  await world.accept("restart", async () => {
    running.resolve();
    await end.promise;
    return { cells: 1 };
  });
  const backend = world.backend();
  const claim = await claimOne(backend);
  const result = enter(backend, claim);
  await running.promise;
  const folder = await world.parts().workspaces();
  const [kept = ""] = await readdir(folder);
  const left = "0".repeat(64);
  await mkdir(join(folder, left, "files"), { recursive: true });
  const longAgo = new Date(Date.now() - 2 * 86_400_000);
  for (const name of [kept, left]) await utimes(join(folder, name), longAgo, longAgo);
  const worker = world.worker();
  const other = await world.accept("restart", () => ({ cells: 2 }));
  await world.untilStates([other], "completed");
  await worker.stop();
  expect(await readdir(folder)).toEqual([kept]);
  end.resolve();
  expect(await backend.settle(claim, await result)).toBe("settled");
  expect(await readdir(folder)).toEqual([]);
});

test("hosts and schemas that share a directory never sweep each other's workspaces", async () => {
  await using world = await openAttemptWorld();
  const { jobs, queue, leaseSeconds, revisions, artifacts, workspaces } = world.parts();
  const mine = await workspaces();
  const left = "0".repeat(64);
  const longAgo = new Date(Date.now() - 2 * 86_400_000);
  await mkdir(join(mine, left));
  await utimes(join(mine, left), longAgo, longAgo);
  await migrateJobHost({ connectionString: world.url, schema: "other_host" });
  const others = [
    { hostId: "other", schema: "job_host" },
    { hostId: "test", schema: "other_host" },
  ];
  const folders = [mine];
  for (const { hostId, schema } of others) {
    const database = { connectionString: world.url, schema };
    const workspaceDirectory = dirname(mine);
    const common = { jobs, queue, leaseSeconds, providers: [], revisions, artifacts, workspaceDirectory };
    const other = openHost(checkJobHostOptions({ ...common, hostId, database }), databaseClock);
    await sweepWorkspaces(other.parts);
    folders.push(await other.parts.workspaces());
    await other.close(async () => undefined);
  }
  expect(await readdir(mine)).toEqual([left]);
  expect(new Set(folders).size).toBe(3);
  await sweepWorkspaces(world.parts());
  expect(await readdir(mine)).toEqual([]);
});
