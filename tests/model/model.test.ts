import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { postgresBackends } from "../contract/support/backends.ts";
import { arbitraryPlan, type PlannedRound } from "./support/arbitrary-plan.ts";
import { playPlan } from "./support/play-plan.ts";

const size = { queues: 48, rounds: 10, steps: 20, keys: 50 };
/**
 * For each driver: calls, and the time in ms after which no further plan is begun, so that a busy machine plays fewer.
 * MODEL_LONG=1 takes a million calls and all the time that they need.
 */
const limits = process.env.MODEL_LONG
  ? { calls: 1_000_000, ms: Number.POSITIVE_INFINITY }
  : { calls: 50_000, ms: 15_000 };
/** Plans are played side by side, each on a database of its own. */
const databases = 2;
/** A failure prints what to set these to: the plan is then played again and made smaller. */
const { MODEL_SEED, MODEL_PATH } = process.env;
const firstSeed = MODEL_SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(MODEL_SEED);

/** Of each driver, however slow the machine is. */
const leastCalls = 2500;

test.each(postgresBackends)(
  "any interleaving of calls, lost answers, crashes and time is one that the model explains, %s",
  async (backend) => {
    console.log(`model: seeds from ${firstSeed}, as MODEL_SEED=${firstSeed}, ${backend}`);
    let calls = 0;
    let unknown = 0;
    const property = fc.asyncProperty(arbitraryPlan(size), async (plan: readonly PlannedRound[]) => {
      const played = await playPlan(backend, size, plan);
      calls += played.calls;
      unknown += played.unknown;
    });
    if (MODEL_PATH !== undefined) {
      await fc.assert(property, { seed: firstSeed, path: MODEL_PATH });
      return;
    }
    let seed = firstSeed;
    const endsAt = performance.now() + limits.ms;
    const lane = async (): Promise<void> => {
      while (calls < leastCalls || (calls < limits.calls && performance.now() < endsAt)) {
        // To shrink takes long, and a whole plan is long to read: both are for who looks into it, with MODEL_PATH.
        const run = await fc.check(property, { seed: seed++, numRuns: 1, endOnFailure: true });
        if (run.failed)
          throw new Error(again(run.seed, run.counterexamplePath), { cause: run.errorInstance });
      }
    };
    await Promise.all(Array.from({ length: databases }, lane));
    console.log(`model: ${calls} calls, ${unknown} of them cut off, ${backend}`);
    expect(calls).toBeGreaterThanOrEqual(leastCalls);
  },
  process.env.MODEL_LONG ? 3 * 3_600_000 : 240_000,
);

function again(seed: number, path: string | null): string {
  return `MODEL_SEED=${seed} MODEL_PATH=${path ?? ""} plays it again and makes it smaller`;
}
