import { expect, test } from "bun:test";
import type { ExecutionResult } from "../../../tasks/provider.ts";
import { checkJobHost } from "../testing/check-job-host.ts";
import { leaseSeconds } from "../testing/job-host-composition.ts";
import type { JobClaim } from "./job-worker-backend.ts";
import { type AttemptWorld, enter, openAttemptWorld } from "./testing/attempt-world.ts";
import type { Script, TestProviderId } from "./testing/test-providers.ts";

/** mulberry32: small, and the same everywhere. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** A provider that publishes, saves and fails as chance has it, and goes on whatever a service answers. */
function scriptBy(random: (below: number) => number): Script {
  return async ({ resume }, services) => {
    let parent = resume?.revision;
    for (let step = random(5); step > 0; step -= 1) {
      const path = `mesh-${random(2)}.vtk`;
      await services.workspace.write(path, `${services.attemptId} ${step}`);
      await services.publishArtifact({ role: "mesh", path, mediaType: "model/vtk" }).catch(() => undefined);
      if (services.publishCheckpoint !== undefined && random(2) === 0) {
        const publication = { paths: [path], metadata: { step } };
        const given = parent === undefined ? publication : { ...publication, parent };
        parent = await services.publishCheckpoint(given).catch(() => parent);
      }
      await services.writeLog({ level: "info", message: path }).catch(() => undefined);
    }
    if (random(8) === 0) throw new Error("as chance has it");
    return { cells: 1 };
  };
}

/** Attempts in all states of being: claimed, run and not settled, forgotten, come back. */
async function play(world: AttemptWorld, seed: number): Promise<string[]> {
  const random = randomOf(seed);
  const oneOf = <T>(list: readonly T[]): T | undefined => list[random(list.length)];
  const providers: readonly TestProviderId[] = ["restart", "checkpoint", "checkpoint", "reconcile"];
  const ids: string[] = [];
  for (const provider of providers) ids.push(await world.accept(provider, scriptBy(random)));
  world.compatibleWith(() => random(4) > 0);
  const backends = [world.backend(), world.backend()] as const;
  const claims: JobClaim[] = [];
  const ran = new Map<JobClaim, ExecutionResult>();
  const moves: (() => Promise<unknown>)[] = [
    async () => claims.push(...(await backends[random(2)]!.fetch(1 + random(2)))),
    async () => {
      const claim = oneOf(claims);
      if (claim !== undefined && !ran.has(claim)) ran.set(claim, await enter(backends[0], claim));
    },
    async () => {
      const claim = oneOf([...ran.keys()]);
      const result = claim && ran.get(claim);
      if (claim && result) await backends[random(2)]!.settle(claim, result);
    },
    async () => {
      const claim = oneOf(claims);
      if (claim !== undefined) await backends[0].pulse(claim);
    },
    async () => {
      const claim = oneOf(claims);
      if (claim !== undefined && !ran.has(claim)) await backends[0].giveBack(claim);
    },
    () => world.advance(1 + random(40)),
    () => world.sweep(),
    async () => (random(6) === 0 ? world.cancel(oneOf(ids) as string) : undefined),
  ];
  for (let step = 0; step < 60; step += 1) {
    await oneOf(moves)?.();
    await checkJobHost(world.sql);
  }
  return ids;
}

test.each([1, 2, 3, 4, 5, 6])(
  "whatever the order in which attempts come, go and come back, every job ends and keeps the invariants (seed %i)",
  async (seed) => {
    await using world = await openAttemptWorld();
    const ids = await play(world, seed);
    for (let round = 0; round < 12; round += 1) {
      await world.advance(2 * leaseSeconds + 1);
      await world.sweep();
      for (const claim of await world.backend().fetch(4))
        await world.backend().settle(claim, await enter(world.backend(), claim));
    }
    const ends = ["completed", "failed", "cancelled", "attention_required"];
    for (const id of ids) expect(ends).toContain((await world.row(id))["state"] as string);
  },
);
