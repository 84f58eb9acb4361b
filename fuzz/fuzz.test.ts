import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { commandLine } from "./testing/command-line.ts";
import { composition } from "./testing/composition.ts";
import { configuration } from "./testing/configuration.ts";
import { canary, expectNoCanary } from "./testing/fuzz-target.ts";
import { payload } from "./testing/payload.ts";
import { secretReference } from "./testing/secret-reference.ts";
import { stlFile } from "./testing/stl-file.ts";
import { submission } from "./testing/submission.ts";
import { wire } from "./testing/wire.ts";

const targets = [
  wire,
  composition,
  configuration,
  payload,
  secretReference,
  commandLine,
  stlFile,
  submission,
];
/** Inputs in all. FUZZ_LONG=1 makes it a million. */
const wanted = process.env.FUZZ_LONG ? 1_000_000 : 20_000;
/** With FUZZ_COUNTS=1, how often each answer came is printed. A failure prints the path; with FUZZ_SEED the same inputs come again. */
const seed =
  process.env.FUZZ_SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(process.env.FUZZ_SEED);
const shares = targets.reduce((sum, { share }) => sum + share, 0);
console.log(`fuzz: FUZZ_SEED=${seed}`);

test.each(targets.map((target) => [target.name, target] as const))(
  "%s of any kind end in an answer or a documented error, and show no secret",
  async (_, target) => {
    const numRuns = Math.ceil((wanted * target.share) / shares);
    const answers = new Map<string, number>();
    const property = target.property((answer) => answers.set(answer, (answers.get(answer) ?? 0) + 1));
    const run = await fc.check(property as fc.IAsyncProperty<[unknown]>, { seed, numRuns });
    if (run.failed) {
      // The input may have a secret's place-holder in it: it is shown by who plays it again.
      throw new Error(`FUZZ_SEED=${seed}, path ${run.counterexamplePath ?? ""}`, {
        cause: run.errorInstance,
      });
    }
    expect(run.numRuns).toBe(numRuns);
    if (process.env.FUZZ_COUNTS) console.log(target.name, Object.fromEntries(answers));
    const tooRare = Object.entries(target.leastOfThousand).filter(
      ([answer, least]) => (answers.get(answer) ?? 0) * 1000 < least * numRuns,
    );
    expect(tooRare.map(([answer, least]) => ({ answer, least, times: answers.get(answer) ?? 0 }))).toEqual(
      [],
    );
  },
  process.env.FUZZ_LONG ? 3_600_000 : 60_000,
);

test("a secret in any printed form is noticed", () => {
  for (const leak of [
    canary,
    { deep: [{ er: canary }] },
    new Error(`got ${canary}`),
    new Map([[canary, 1]]),
  ]) {
    expect(() => expectNoCanary(leak)).toThrow("a secret came out");
  }
  expectNoCanary("nothing", { of: ["the", "kind"] }, new Error("here"));
});
