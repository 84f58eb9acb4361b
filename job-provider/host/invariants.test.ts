import { expect, test } from "bun:test";
import { openHostWorld } from "./testing/host-world.ts";

test("jobs under workers that stop, sweeps, cancels and commands at once all end, and keep every invariant", async () => {
  await using world = await openHostWorld();
  let turn = 0;
  world.work.execute = async ({ workspace, publishArtifact, signal }) => {
    turn += 1;
    await workspace.write("out.txt", `turn ${turn}`);
    await publishArtifact({ role: "mesh", path: "out.txt", mediaType: "text/plain" });
    // Every third waits to be interrupted, so that stops meet attempts in the middle.
    if (turn % 3 === 0 && turn < 30)
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve, { once: true });
        setTimeout(resolve, 200);
      });
    signal.throwIfAborted();
    return { cells: turn };
  };
  const [host, other] = [world.host(), world.host({ jobs: world.client("other") })];
  const references = await Promise.all(Array.from({ length: 24 }, () => world.accept(host)));
  const watches = references.map((reference) => Array.fromAsync(other.watch(reference)));
  for (const watched of watches) watched.catch(() => undefined); // the end of the world must not hide why it came
  for (let round = 0; round < 3; round += 1) {
    const workers = [host, other].map((each) => each.startWorker({ concurrency: 3 }));
    const cancelled = references.slice(round * 4, round * 4 + 3);
    await Promise.all([
      ...cancelled.map((reference) => other.cancel(reference)),
      ...references.map((reference) =>
        host.command(reference, "replay-safe", {
          commandId: `round ${round}`,
          expectedRevision: 1,
          value: { by: round },
        }),
      ),
      world.sweep(),
      world.sweep("other"),
    ]);
    await Promise.all(workers.map((worker) => worker.stop({ abort: true })));
  }
  const worker = host.startWorker({ concurrency: 4 });
  const ends = (await Promise.all(watches)).map((events) => events.at(-1));
  await worker.stop();
  for (const end of ends)
    expect(end).toMatchObject({ state: expect.stringMatching(/^(completed|cancelled)$/) });
  const [{ spent }] = await world.sql`select max(attempts)::int as spent from job`;
  expect(spent).toBe(1); // an orderly stop costs none
}, 90_000);
