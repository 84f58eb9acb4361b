import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brokenVariants } from "./broken-variants.ts";
import { checkModel, spinIsHere } from "./check-model.ts";

const model = readFileSync(join(import.meta.dir, "lease.pml"), "utf8");
const context = readFileSync(join(import.meta.dir, "../CONTEXT.md"), "utf8");

/** A variable for each, and the one that the search itself shows. */
const invariants = [
  ...[...model.matchAll(/^bool (\w+) = true;$/gm)]
    .map(([, name = ""]) => name)
    .filter((name) => name !== "in_ready"),
  "no_job_gets_stuck",
];

const isLong = process.env.PROOF_LONG === "1";
/** What a search gets through in a few seconds. */
const bounds = [
  [
    "two calls, perhaps a thief's, a claim undone, a fence",
    ["-DMAX_CALLS=2", "-DMAX_THEFTS=1", "-DMAX_UNDONE=1", "-DMAX_FENCES=1"],
  ],
  ["three calls", ["-DMAX_CALLS=3"]],
] as const;
/** And what takes a minute and a gigabyte: PROOF_LONG=1 searches them too. */
const largeBounds = [
  ["three calls, a claim undone", ["-DMAX_CALLS=3", "-DMAX_UNDONE=1"]],
  [
    "three attempts, two calls, perhaps a thief's, a claim undone, a fence",
    ["-DMAX_ATTEMPTS=3", "-DMAX_CALLS=2", "-DMAX_THEFTS=1", "-DMAX_UNDONE=1", "-DMAX_FENCES=1"],
  ],
] as const;

describe("the file of the lease protocol", () => {
  test("asserts each invariant that it declares, under a name that CONTEXT.md has", () => {
    expect(invariants.length).toBeGreaterThanOrEqual(10);
    for (const name of invariants) {
      if (name !== "no_job_gets_stuck") expect(model).toContain(`assert(${name})`);
      const words = name.replaceAll("_", " ");
      const found = context.toLowerCase().includes(`**${words}**`);
      expect([words, found]).toEqual([words, true]);
    }
  });

  test("has a broken variant for each invariant, and none that breaks another", () => {
    const broken = new Set(brokenVariants.filter(({ isLike }) => !isLike).map(({ breaks }) => breaks));
    expect([...broken].sort()).toEqual([...invariants].sort());
  });
});

if (!spinIsHere)
  console.log("proof: spin or gcc is not installed, so the model's states are not searched here");

describe.skipIf(!spinIsHere)("of all interleavings of the lease protocol", () => {
  test.each(isLong ? [...bounds, ...largeBounds] : bounds)(
    "none breaks an invariant: %s",
    async (_, options) => {
      const found = await checkModel({ bounds: options });
      expect(found).toMatchObject({ violated: undefined, complete: true });
      expect(found.states).toBeGreaterThan(1_000_000);
    },
    300_000,
  );

  const variants = brokenVariants.filter(({ isLike }) => isLong || !isLike);
  test.each(variants.map((variant) => [variant.does, variant] as const))(
    "one breaks an invariant with %s",
    async (_, { edits, bounds: more, breaks }) => {
      expect((await checkModel({ bounds: more ?? [], edits })).violated).toBe(breaks);
    },
    120_000,
  );
});
