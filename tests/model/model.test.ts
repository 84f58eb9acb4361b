import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { postgresBackends } from "../contract/support/backends.ts";
import { arbitraryPlan, type PlannedRound } from "./support/arbitrary-plan.ts";
import { type Played, playPlan } from "./support/play-plan.ts";

/** Many queues, since their calls share statements: that is what makes a call cheap. */
const size = { queues: 256, rounds: 16, steps: 10, keys: 50 };
/** For each driver, however long that takes on a slow or busy machine. MODEL_LONG=1 takes a million. */
const leastCalls = process.env.MODEL_LONG ? 1_000_000 : 50_000;
/** Plans are played side by side, each on a database of its own. */
const databases = 2;
/** A failure prints what to set these to: the plan is then played again and made smaller. */
const { MODEL_SEED, MODEL_PATH } = process.env;
/** In ms, for each driver: many times what a quiet machine needs. To make a plan smaller takes hundreds of tries. */
const timeLimit = process.env.MODEL_LONG || MODEL_PATH !== undefined ? 3 * 3_600_000 : 600_000;
const firstSeed = MODEL_SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(MODEL_SEED);

test.each(postgresBackends)(
  "any interleaving of calls, lost answers, crashes and time is one that the model explains, %s",
  async (backend) => {
    console.log(`model: seeds from ${firstSeed}, as MODEL_SEED=${firstSeed}, ${backend}`);
    const played: Played = { calls: 0, unknown: 0 };
    // A plan that is played again is played to its end.
    const isEnough = (): boolean => MODEL_PATH === undefined && played.calls >= leastCalls;
    const property = fc.asyncProperty(arbitraryPlan(size), (plan: readonly PlannedRound[]) =>
      playPlan(backend, size, plan, played, isEnough),
    );
    if (MODEL_PATH !== undefined) {
      await fc.assert(property, { seed: firstSeed, path: MODEL_PATH });
      return;
    }
    let seed = firstSeed;
    const lane = async (): Promise<void> => {
      while (!isEnough()) {
        // To shrink takes long, and a whole plan is long to read: both are for who looks into it, with MODEL_PATH.
        const run = await fc.check(property, { seed: seed++, numRuns: 1, endOnFailure: true });
        if (run.failed)
          throw new Error(again(run.seed, run.counterexamplePath, played), { cause: run.errorInstance });
      }
    };
    await Promise.all(Array.from({ length: databases }, lane));
    console.log(`model: ${played.calls} calls, ${played.unknown} of them cut off, ${backend}`);
    expect(played.calls).toBeGreaterThanOrEqual(leastCalls);
  },
  timeLimit,
);

function again(seed: number, path: string | null, { calls }: Played): string {
  return `after ${calls} calls: MODEL_SEED=${seed} MODEL_PATH=${path ?? ""} plays it again and makes it smaller`;
}
