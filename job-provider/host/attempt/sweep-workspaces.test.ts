import { expect, test } from "bun:test";
import { mkdir, readdir, utimes } from "node:fs/promises";
import { join } from "node:path";
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
  const folder = join(world.directory, "workspaces");
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
